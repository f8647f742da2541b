"""The largest relevances of each user, against a sort."""

import numpy as np
import pytest
from inside import compiled, in_python

from recmetrics._core.selection.largest import write_largest

# With 192 values lanes give the bound, up to the 32 largest; all of two values are sorted.
SIZES = [0, 1, 2, 5, 63, 64, 65, 191, 192, 319, 320, 1_000]
RELEVANCES = {
    "distinct": lambda rng, size: rng.permutation(size) + 1.0,
    "grades": lambda rng, size: rng.integers(1, 6, size).astype(float),
    "one is larger": lambda _, size: 1.0 + (np.arange(size) == size // 2),
    "equal": lambda _, size: np.full(size, 2.0),
    "ascending": lambda _, size: np.arange(size) + 1.0,
    "descending": lambda _, size: np.arange(size)[::-1] + 1.0,
    "half zeros": lambda rng, size: rng.integers(0, 2, size) * rng.random(size),
    "extremes": lambda rng, size: rng.choice([5e-324, 1e-17, 1.0, 1e100], size),
}


@pytest.fixture(params=[compiled, in_python])
def _run(request):
    with request.param():
        yield


def users_of(kind, dtype=np.float64):
    rng = np.random.default_rng(0)
    users = [RELEVANCES[kind](rng, size).astype(dtype) for size in SIZES]
    return users, np.cumsum([0, *SIZES])


@pytest.mark.usefixtures("_run")
@pytest.mark.parametrize("k", [1, 2, 10, 32, 33, 100])
@pytest.mark.parametrize("kind", RELEVANCES)
def test_the_largest_of_each_user_descend(kind, k):
    users, start = users_of(kind)
    slot_start = np.cumsum([0, *np.minimum(SIZES, k)])
    largest = np.full(slot_start[-1], np.nan)
    write_largest(start, np.concatenate(users), slot_start, largest, None)
    np.testing.assert_array_equal(largest, np.concatenate([np.sort(u)[::-1][:k] for u in users]))


@pytest.mark.usefixtures("_run")
@pytest.mark.parametrize("depth", [1, 2, 10, 32, 33, 100])
@pytest.mark.parametrize("kind", RELEVANCES)
def test_the_others_follow_in_any_order(kind, depth):
    users, start = users_of(kind)
    largest = np.full(start[-1], np.nan)
    write_largest(start, np.concatenate(users), start, largest, depth)
    for user, begin, end in zip(users, start, start[1:], strict=False):
        descending = np.sort(user)[::-1]
        np.testing.assert_array_equal(largest[begin:end][:depth], descending[:depth])
        np.testing.assert_array_equal(np.sort(largest[begin:end])[::-1], descending)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "uint64", "float32"])
def test_relevances_have_any_dtype(dtype):
    users, start = users_of("grades", dtype)
    slot_start = np.cumsum([0, *np.minimum(SIZES, 10)])
    largest = np.empty(slot_start[-1])
    with compiled():
        write_largest(start, np.concatenate(users), slot_start, largest, None)
    np.testing.assert_array_equal(largest, np.concatenate([np.sort(u)[::-1][:10] for u in users]))
