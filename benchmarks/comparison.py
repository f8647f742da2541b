"""Check the coverage of the intervals of ``compare``, and the level of its tests.

python benchmarks/comparison.py [--users N ...] [--experiments N] [--seed N] [--processes N]

Each experiment draws users and, for each user, the hits of three models at ten ranks. Two models
are equally good, and one is better. The true means and differences are known in closed form. A
95 % interval should contain them in 93 to 97 % of the experiments. A test should find a difference
between the two equally good models in 4 to 6 % of the experiments. With 2,000 experiments, the
standard error of such a share is about half a point.

The permutation test of hit rejects less often than its level allows. All users who differ do so by
1, so that the test is a sign test. With n such users it has only about n / 2 different p-values. If
n is small, the largest p-value below 5 % is clearly below 5 % on average. The last lines show how
often the exact test rejects a true null hypothesis. It never rejects too often.
"""

import argparse
import math
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scipy.special import beta
from scipy.stats import binom

import recmetrics

TESTS = ("t", "wilcoxon", "permutation")
N_RANKS = 10
TASTE = (0.5, 4.0)  # parameters of the Beta distribution of a user's chance of a hit
BOOST = 0.1  # chance that the better model hits where the others would not
DISCOUNT = 1 / np.log2(np.arange(2, N_RANKS + 2))
IDEAL = DISCOUNT[:5].sum()  # of a user with five relevant items


def main():
    """Run the experiments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    args = parser.parse_args()
    print(f"{args.experiments:,} experiments, seed {args.seed}\n")
    print(
        "| users | metric | interval covers: mean | no difference | difference | "
        + " | ".join(f"false positives: {test}" for test in TESTS)
        + " | time |"
    )
    print("| ---: | --- | ---: | ---: | ---: |" + " ---: |" * (len(TESTS) + 1))
    with ProcessPoolExecutor(args.processes) as pool:
        for n_users in args.users:
            report(n_users, args.experiments, args.seed, pool)
    print(
        "\nhit@10 differs by 1 or not at all: few p-values are possible, and the permutation test"
    )
    print("is conservative. Exact, it rejects a true null in")
    for n_users in args.users:
        print(f"- {100 * attainable(n_users):.1f} % of the experiments with {n_users:,} users")


def report(n_users, n_experiments, seed, pool):
    """Print a row for each metric."""
    start = time.perf_counter()
    one = partial(measured_once, n_users, seed)
    counts = sum(pool.map(one, range(n_experiments), chunksize=10))
    seconds = time.perf_counter() - start
    for metric, shares in zip(truth(0.0), counts / n_experiments, strict=True):
        cells = " | ".join(f"{100 * share:.1f} %" for share in shares)
        print(f"| {n_users:,} | {metric} | {cells} | {seconds:.0f} s |", flush=True)


def measured_once(n_users, seed, number):
    """What one experiment adds to each metric's row: intervals that cover, then false positives.

    Each experiment has its own generator, so that processes change no number.
    """
    rng = np.random.default_rng([seed, n_users, number])
    means, boosted = truth(0.0), truth(BOOST)
    found = recmetrics.compare(
        experiment(n_users, rng), baseline="a", tests=TESTS, correction=None, rng=rng
    )
    rows = {metric: np.zeros(3 + len(TESTS)) for metric in means}
    for mean in found.means:
        if mean.model == "a":
            rows[mean.metric][0] = mean.low <= means[mean.metric] <= mean.high
    for each in found.differences:
        is_null = each.model == "equal"
        expected = 0.0 if is_null else boosted[each.metric] - means[each.metric]
        rows[each.metric][1 if is_null else 2] = each.low <= expected <= each.high
        if is_null:
            rows[each.metric][3:] = [each.p_uncorrected[test] < 0.05 for test in TESTS]
    return np.stack(list(rows.values()))


def attainable(n_users):
    """How often the exact sign-flip test of hit rejects a true null at 5 %."""
    a, b = TASTE
    miss, both_miss = (beta(a, b + n * N_RANKS) / beta(a, b) for n in (1, 2))
    differing = np.arange(n_users + 1)
    chances = binom.pmf(differing, n_users, 2 * (miss - both_miss))
    likely = differing[chances > 1e-9]
    return sum(chances[n] * _size(n) for n in likely)


def _size(n):
    """The chance of a two-sided p-value below 5 % in the sign test of ``n`` differing users."""
    # P(wins <= w or wins >= n - w), for the largest w where it is below 5 %.
    tails = 2 * binom.cdf(np.arange((n + 1) // 2), n, 0.5)
    return tails[tails < 0.05].max(initial=0.0)


def experiment(n_users, rng):
    """Per-user metrics of three models, as ``Metrics.compute`` would return them."""
    chance = rng.beta(*TASTE, n_users)[:, None]
    boosts = {"a": 0.0, "equal": 0.0, "better": BOOST}
    return {
        model: measured(rng.random((n_users, N_RANKS)) < chance + boost * (1 - chance))
        for model, boost in boosts.items()
    }


def measured(hits):
    """The metrics of lists of ten for users with five relevant items."""
    return {
        "hit@10": hits.any(axis=1).astype(float),
        "precision@10": hits.mean(axis=1),
        "ndcg@10": hits @ DISCOUNT / IDEAL,  # beyond 1 where more hit than are relevant: no matter
    }


def truth(boost):
    """The expectation of each metric."""
    a, b = TASTE
    miss = (1 - boost) * b / (a + b)
    no_hit = (1 - boost) ** N_RANKS * beta(a, b + N_RANKS) / beta(a, b)
    return {
        "hit@10": 1 - no_hit,
        "precision@10": 1 - miss,
        "ndcg@10": (1 - miss) * math.fsum(DISCOUNT) / IDEAL,
    }


if __name__ == "__main__":
    main()
