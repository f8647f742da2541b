"""Time the forms that read far above the limit, each over ``scores.max(axis=1)``, with one thread.

The limits are those of a quiet machine, an AMD EPYC that reads 25 GB a second with one core. A
machine that reads more slowly has lower ratios. Measured there, ndcg@10 in float32:

    of 3,700 items                   10     100    300    1,000
    relevant                         0.9    1.5    2.2    3.5
    with grades 1 to 5               1.0    1.8    2.9    5.2
    no two grades equal              1.0    2.1    3.2    5.7
    dense truth of bool              2.3    2.2    2.2    2.2
    dense truth of float32           3.2    3.1    3.0    3.0
    excluded, with 1 relevant        0.9    1.5    1.9    3.2
    excluded, and as many relevant   1.0    2.3    3.4    6.2

    Fortran order                    2.2 at 1,024 x 20,000, 1.8 at 4,000 x 5,000
    dense truth in Fortran order     4.8 of bool, 5.8 of float32 (read row by row: 17.7, 27.6)
    auc with 100 relevant items      3.5 times auc with 10, 2,000 x 3,700
    auc with 50 in float64           1.1 times that in float32 (each compared: 2.4)
    ndcg@370 of a good model         2.1 times that of random scores (without a search: 4.9)
    auc of one group, 100,000 rows   2.2 times that of a dense row (each counted: 31)
    auc of 100,000 whole numbers     0.8 times that of distinct scores (each counted: 9.6)

python benchmarks/limits.py            all rows; exits with 1 where one is above its limit
python benchmarks/limits.py Fortran    the rows whose names begin so
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from problems import SEED, item_sets
from timing import in_turn

from recmetrics import Metrics

REPEATS = 9
SIZE = (4_000, 3_700)
COLUMNS = ((1_024, 20_000), (4_000, 5_000))
# By the relevant, or excluded, items of a user: the limits with CSR truth, with grades, with dense
# truth, with excluded items, and with as many relevant as excluded ones.
LIMITS = {
    10: (2.0, 2.2, 4.6, 2.0, 2.2),
    100: (2.6, 3.4, 4.6, 2.6, 3.7),
    300: (3.5, 5.0, 4.6, 3.3, 5.5),
    1_000: (5.3, 8.3, 4.6, 5.0, 9.3),
}
RANKED = (2_000, 3_700)
PAIRS = ((1_000, 50_000), (2_000, 12_000))  # rows that leave, or fill, the nearest cache


class Row(NamedTuple):
    """A call, what it is timed over, and the largest ratio."""

    name: str
    call: Callable[[], Any]
    read: Callable[[], Any]
    limit: float


def graded(truth: sp.csr_array, grades: np.ndarray) -> sp.csr_array:
    """The same items with those relevances."""
    return sp.csr_array((grades, truth.indices, truth.indptr), shape=truth.shape)


def scores_of(size: tuple[int, int]) -> np.ndarray:
    """Standard normal scores, float32."""
    return np.random.default_rng(SEED).standard_normal(size, dtype=np.float32)


def rows() -> Iterator[Row]:
    """Each row; its scores are made when it is asked for."""
    rng = np.random.default_rng(SEED)
    for size, limit in zip(COLUMNS, (7.5, 6.5), strict=True):
        columns = np.asfortranarray(scores_of(size))
        call = partial(Metrics.ndcg_at_k, columns, item_sets(size, 10, rng), 10, n_threads=1)
        yield Row(f"Fortran order, {size[0]} x {size[1]}", call, partial(columns.max, 1), limit)

    scores = scores_of(SIZE)
    read = partial(scores.max, 1)
    ndcg = partial(Metrics.ndcg_at_k, scores, k=10, n_threads=1)
    for dtype, limit in ((np.bool_, 9.0), (np.float32, 13.0)):
        columns = np.asfortranarray(item_sets(SIZE, 10, rng).toarray().astype(dtype))
        yield Row(
            f"Fortran order, dense truth of {columns.dtype}", partial(ndcg, columns), read, limit
        )
    for number, limits in LIMITS.items():
        binary_limit, graded_limit, dense_limit, excluded_limit, both_limit = limits
        truth = item_sets(SIZE, number, rng)
        n_grades = truth.nnz
        yield Row(f"{number} relevant", partial(ndcg, truth), read, binary_limit)
        of_five = graded(truth, rng.integers(1, 6, n_grades).astype(float))
        yield Row(f"{number} relevant, grades 1 to 5", partial(ndcg, of_five), read, graded_limit)
        distinct = graded(truth, rng.permutation(n_grades) + 1.0)
        yield Row(f"{number} relevant, no two equal", partial(ndcg, distinct), read, graded_limit)
        for dtype in (np.bool_, np.float32):
            dense = truth.toarray().astype(dtype)
            name = f"{number} relevant, dense truth of {dense.dtype}"
            yield Row(name, partial(ndcg, dense), read, dense_limit)
        call = partial(ndcg, truth, exclude=item_sets(SIZE, number, rng))
        yield Row(f"{number} excluded, {number} relevant", call, read, both_limit)
        apart = graded(truth, np.ones(n_grades)).copy()
        apart.indices = np.maximum(apart.indices, 1)  # item 0 is relevant, and is not excluded
        apart.sum_duplicates()
        first = sp.csr_array(np.eye(1, SIZE[1])[np.zeros(SIZE[0], int)])
        call = partial(ndcg, first, exclude=apart)
        yield Row(f"{number} excluded, 1 relevant", call, read, excluded_limit)

    for size, limit in zip(PAIRS, (2.7, 4.1), strict=True):
        scores = scores_of(size)
        excluded = item_sets(size, 1_000, rng)
        relevant = item_sets(size, 10, rng)
        call = partial(Metrics.ndcg_at_k, scores, relevant, 10, exclude=excluded, n_threads=1)
        name = f"1000 excluded, 10 relevant, {size[0]} x {size[1]}"
        yield Row(name, call, partial(scores.max, 1), limit)

    scores = scores_of(RANKED)
    auc = partial(Metrics.compute, scores, metrics_list=["auc"], n_threads=1)
    few = partial(auc, item_sets(RANKED, 10, rng))
    yield Row(
        "auc with 100 relevant, over auc with 10",
        partial(auc, item_sets(RANKED, 100, rng)),
        few,
        5.4,
    )
    truth = item_sets(RANKED, 50, rng)
    yield Row(
        "auc with 50 relevant in float64, over float32",
        partial(Metrics.compute, scores.astype(float), truth, "auc", n_threads=1),
        partial(Metrics.compute, scores, truth, "auc", n_threads=1),
        2.0,
    )
    truth = item_sets(RANKED, 200, rng)
    with_hits = scores + 2 * truth.toarray().astype(np.float32)
    yield Row(
        "ndcg@370 with 200 relevant, of a good model over random scores",
        partial(Metrics.ndcg_at_k, with_hits, truth, 370, n_threads=1),
        partial(Metrics.ndcg_at_k, scores, truth, 370, n_threads=1),
        3.4,
    )

    size = (1, 100_000)
    scores = scores_of(size)
    truth = item_sets(size, 30_000, rng).toarray()
    yield Row(
        "auc of one group of 100000 rows, over a dense row",
        partial(Metrics.compute_groups, scores[0], truth[0], "auc", sizes=[size[1]], n_threads=1),
        partial(Metrics.compute, scores, truth, "auc", n_threads=1),
        3.6,
    )
    whole_numbers = scores.round()
    yield Row(
        "auc of 100000 scores of 9 values, over distinct scores",
        partial(Metrics.compute, whole_numbers, truth, "auc", n_threads=1),
        partial(Metrics.compute, scores, truth, "auc", n_threads=1),
        2.0,
    )


def main(beginning: str = "") -> bool:
    """Print the ratios; True where one is above its limit."""
    any_above = False
    for row in rows():
        if not row.name.startswith(beginning):
            continue
        row.call()
        ratio = in_turn(row.call, row.read, REPEATS)
        is_above = ratio.value > row.limit
        any_above |= is_above
        verdict = "above" if is_above else "ok"
        print(
            f"{row.name:48} {ratio.ms:7.1f} ms  {ratio.value:6.2f} times  limit "
            f"{row.limit:5.1f}  {verdict}",
            flush=True,
        )
    return any_above


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
