"""The rows of each list in its order, by rank or by score, and the gaps between its ranks."""

from __future__ import annotations

import re
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from recmetrics._core.inputs import FlatLists, users_of_entries
from recmetrics._core.spec import TableTies
from recmetrics._core.types import FloatArray, IntArray, RankGaps
from recmetrics.tables._columns import Columns
from recmetrics.tables._frames import (
    PANDAS,
    POLARS,
    TEXT,
    Frame,
    numbers_of,
    refuse_row,
    sort_keys_of,
    take,
    value_at,
)
from recmetrics.tables._ids import has_repeats, number_ids, refuse_repeats
from recmetrics.tables._numbering import equals_previous, number, sort_groups

_LAST_RANK = 1 << 24  # the weights of so many ranks take 128 MiB
# Code that gives the ranks {1} of lists with the keys {0} again, so that of tied ones the first row
# comes first.
_UNTIED_CODE = {
    PANDAS: "recs = recs.assign(**{{{1!r}: recs.groupby({0})[{1!r}].rank(method='first')}})",
    POLARS: "recs = recs.with_columns(polars.col({1!r}).rank('ordinal').over({0}))",
}


def sort_lists(
    recs: Frame,
    columns: Columns,
    items: IntArray,
    start: IntArray,
    order: IntArray,
    ties: TableTies,
) -> FloatArray | None:
    """Sort the rows of each list by rank, else by score, else leave them as they come.

    Returns the key that sorts the ranks in that order, or None.
    """
    if columns.rank is not None:
        rank = sort_keys_of(recs, "recs", columns.rank)[order]
        sort_groups(start, order, rank)
        return rank
    if columns.score is not None:
        # Whole numbers and decimals are exact keys but for trec_eval, which reads 32-bit floats.
        read = numbers_of if ties == "trec" else sort_keys_of
        score = read(recs, "recs", columns.score)
        fault = "is -inf, which means not recommended; leave such rows out"
        refuse_row(score == -np.inf, "recs", columns.score, lambda _: fault)
        if ties == "trec":
            with np.errstate(over="ignore"):
                score = score.astype(np.float32).astype(np.float64)
        key = -score[order]
        sort_groups(start, order, key)
        if ties == "trec":
            _sort_ties_by_id(recs, columns, items, start, order, key)
    return None


def _sort_ties_by_id(
    recs: Frame,
    columns: Columns,
    items: IntArray,
    start: IntArray,
    order: IntArray,
    key: FloatArray,
) -> None:
    """Sort the rows of equal ``key`` of each list by the bytes of the item id, the last one first.

    ``key`` ascends in each list. Only these rows are read: all ids took half of a call.
    """
    is_same = np.zeros(len(order) + 1, np.bool_)
    is_same[1:-1] = equals_previous(start, key)
    is_tied = is_same[:-1] | is_same[1:]
    rows = order[is_tied]
    numbers, first = number(items[rows])
    ids = take(recs.select(columns.item), rows[first]).get_column(columns.item).to_list()
    words = [word if isinstance(word, bytes) else str(word).encode() for word in ids]
    descending = sorted(range(len(words)), key=words.__getitem__, reverse=True)
    place = np.empty(len(words))
    place[descending] = np.arange(len(words))
    group_start = np.append(np.flatnonzero(~is_same[:-1][is_tied]), len(rows))
    sort_groups(group_start, rows, place[numbers])
    order[is_tied] = rows


def count_tied_lists(
    recs: Frame, columns: Columns, start: IntArray, order: IntArray, depth: int
) -> int:
    """Count the lists by score in which one of the first ``depth`` items has an equal one."""
    if columns.rank is not None or columns.score is None:
        return 0
    scores = sort_keys_of(recs, "recs", columns.score)[order]
    list_of = users_of_entries(start)
    place = np.arange(len(order)) - start[list_of]
    is_tied = equals_previous(start, scores) & (place[:-1] < depth)
    return len(np.unique(list_of[1:][is_tied]))


def contradicted_lists(recs: Frame, columns: Columns, start: IntArray, order: IntArray) -> IntArray:
    """Find the lists by rank in which an item stands before one with a higher score."""
    name = "score"
    if columns.rank in (None, name) or name not in recs.columns:
        return np.empty(0, np.int64)
    column = recs.get_column(name)
    if not column.dtype.is_numeric():
        return np.empty(0, np.int64)
    scores = np.asarray(column.cast(nw.Float64).to_numpy(), np.float64)[order]
    list_of = users_of_entries(start)
    is_higher = scores[1:] > scores[:-1]  # False where one is missing
    return np.unique(list_of[1:][is_higher & (list_of[1:] == list_of[:-1])])


def refuse_equal_ranks(recs: Frame, columns: Columns, lists: IntArray) -> None:
    """Refuse a list with a rank twice; ``lists`` is the number of the list of each row."""
    name = str(columns.rank)
    _, ranks = np.unique(sort_keys_of(recs, "recs", name), return_inverse=True)
    columns_of_lists = how_to_divide(recs, columns, [lists, ranks])
    advice = f"expected a rank once in each list; {columns_of_lists} the lists"
    if recs.implementation in _UNTIED_CODE:
        code = _UNTIED_CODE[recs.implementation].format([*columns.keys], name)
        advice += f"; if items of a list tie, type {code}"
    refuse_repeats(recs, "recs", [*columns.keys, name], [lists, ranks], advice)


def how_to_divide(recs: Frame, columns: Columns, ids: list[IntArray]) -> str:
    """Say which column divides lists in which ``ids`` repeat, such as the name of the model.

    It is a column of text whose lists repeat nothing. The words go on with "the lists".
    """
    columns_read = {*columns.keys, columns.item, columns.rank, columns.score}
    for name in recs.columns:
        column = recs.get_column(name)
        if name in columns_read or column.dtype not in TEXT or column.is_null().any():
            continue
        # Cells of a text file are text, also those of scores and of times.
        if re.match(r"[-+]?[\d.]", str(value_at(recs, name, 0))):
            continue
        labels, first_rows = number_ids((recs, "recs", name))
        # A text of its own in each row, such as a key of a database, divides into single items.
        if len(first_rows) < len(recs) and not has_repeats([*ids, labels]):
            keys: Any = [*columns.keys, name]
            if columns.keys_argument == "by":
                keys = name
                if len(columns.keys) > 1:
                    keys = [*columns.keys[:-1], name]
            return f"type {columns.keys_argument}={keys!r} if column {name!r} distinguishes"
    return f"give {columns.keys_argument}= the column that distinguishes"


def read_gaps(
    recs: Frame,
    columns: Columns,
    lists: FlatLists,
    order: IntArray,
    rank_gaps: RankGaps,
    n_items: int | None,
) -> tuple[FlatLists, IntArray]:
    """Find the lists whose ranks have a gap; unless gaps are closed, keep the ranks.

    Gives the lists, with ``ranks`` and ``last_ranks`` where any has a gap that is kept, and the
    indices of those with a gap. Kept ranks must be integers from 1; equal ranks were refused
    before.
    """
    name = str(columns.rank)
    numbers = numbers_of(recs, "recs", name)
    ranks = numbers[order]
    of_list = lists.users()
    begin = lists.start[of_list]
    offset = ranks - (np.arange(len(ranks)) - begin)  # rank less place: without a gap 0 or 1
    gapped = np.unique(of_list[(offset != offset[begin]) | ~np.isin(offset, (0.0, 1.0))])
    if rank_gaps == "close":
        return lists, gapped
    last = _LAST_RANK
    limit = f"{_LAST_RANK:,}"
    if n_items is not None and gapped.size:
        last = n_items
        limit = f"{n_items:,}, the size of the catalogue"

    def fault_of(row: int) -> str:
        return (
            f"holds rank {value_at(recs, name, row)!r}, expected integers from 1 to {limit}, since "
            "ranks are kept as they are; rank_gaps='close' uses only the order of the ranks"
        )

    is_wrong = (numbers < 1.0) | (numbers > last) | (numbers != np.floor(numbers))
    refuse_row(is_wrong, "recs", name, fault_of)
    if gapped.size:
        integers = ranks.astype(np.int64)
        is_filled = np.diff(lists.start) > 0
        last_ranks = np.zeros(len(is_filled), np.int64)
        last_ranks[is_filled] = integers[lists.start[1:][is_filled] - 1]
        lists = lists._replace(ranks=integers, last_ranks=last_ranks)
    return lists, gapped
