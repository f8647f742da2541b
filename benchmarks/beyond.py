"""Personalization and diversity in linear time, compared with the computation over all pairs.

python benchmarks/beyond.py [--users N]

Both ways must give the same values before they are timed. Peak memory is the most that NumPy
allocates in addition to the inputs (tracemalloc). The computation over all pairs needs a matrix of
users x users. It runs on as many lists as fit into a matrix of 2 GiB.
"""

import argparse
import time
import tracemalloc

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity

from recmetrics import Metrics

K = 20
N_ITEMS = 50_000
N_FEATURES = 64
PAIRWISE_BYTES = 2 << 30


def random_lists(n_users, rng):
    """Lists of K different items, the low ones more often, as popularity makes them."""
    items = (N_ITEMS * rng.random((n_users, 2 * K)) ** 3).astype(np.int64)
    lists = np.empty((n_users, K), np.int64)
    for user, row in enumerate(items):
        _, first = np.unique(row, return_index=True)
        lists[user] = row[np.sort(first)[:K]] if len(first) >= K else np.arange(K)
    return lists


def personalization(lists):
    """Ours, from how often each item is listed."""
    truth = sp.csr_array((len(lists), N_ITEMS))
    metric = f"personalization@{K}"
    return float(Metrics.compute_ranked(lists, truth, metric)[metric])


def personalization_by_pairs(lists, dense_output):
    """Scikit-learn's, from the cosines of all pairs of lists."""
    users = np.repeat(np.arange(len(lists)), K)
    incidence = sp.csr_array((np.ones(lists.size), (users, lists.ravel())), (len(lists), N_ITEMS))
    cosines = cosine_similarity(incidence, dense_output=dense_output)
    return 1.0 - (cosines.sum() - len(lists)) / (len(lists) * (len(lists) - 1.0))


def diversity(lists, features):
    """Ours, from the sum of the unit vectors of a list."""
    truth = sp.csr_array((len(lists), N_ITEMS))
    metric = f"diversity@{K}"
    return Metrics.compute_ranked(lists, truth, metric, features=features)[metric]


def diversity_by_pairs(lists, features):
    """Scikit-learn's, from the cosines of all pairs of items of a list."""
    above = np.triu_indices(K, 1)
    return np.array([1.0 - cosine_similarity(features[row])[above].mean() for row in lists])


def measured(way, *arguments, repeats=3):
    """The result, the best time and the peak memory."""
    result = way(*arguments)  # compiles, too
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        way(*arguments)
        times.append(time.perf_counter() - start)
    tracemalloc.start()
    way(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, min(times), peak


def show(what, n_users, way, seconds, peak):
    """Print a row of the table."""
    print(f"| {what} | {n_users:,} | {way} | {seconds:.3f} s | {peak / 2**20:,.0f} MiB |")


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=200_000, help="lists (default 200,000)")
    arguments = parser.parse_args()
    n_pairs = min(int((PAIRWISE_BYTES / 8) ** 0.5), arguments.users)
    rng = np.random.default_rng(0)
    lists = random_lists(arguments.users, rng)
    features = rng.standard_normal((N_ITEMS, N_FEATURES), dtype=np.float32)

    print("| metric | lists of 20 | way | time | peak memory |")
    print("| --- | --- | --- | --- | --- |")
    some = lists[:n_pairs]
    ours, seconds, peak = measured(personalization, some)
    show("personalization", n_pairs, "recmetrics", seconds, peak)
    for dense in (False, True):
        theirs, seconds, peak = measured(personalization_by_pairs, some, dense, repeats=1)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
        kind = "dense" if dense else "sparse"
        show("personalization", n_pairs, f"scikit-learn, {kind}", seconds, peak)
    _, seconds, peak = measured(personalization, lists)
    show("personalization", len(lists), "recmetrics", seconds, peak)

    some = lists[:5_000]
    ours, seconds, peak = measured(diversity, some, features)
    show(f"diversity, d = {N_FEATURES}", len(some), "recmetrics", seconds, peak)
    theirs, seconds, peak = measured(diversity_by_pairs, some, features, repeats=1)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    show(f"diversity, d = {N_FEATURES}", len(some), "scikit-learn per list", seconds, peak)
    _, seconds, peak = measured(diversity, lists, features)
    show(f"diversity, d = {N_FEATURES}", len(lists), "recmetrics", seconds, peak)


if __name__ == "__main__":
    main()
