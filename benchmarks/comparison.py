"""Whether the intervals of a comparison cover, and its tests keep their level.

python benchmarks/comparison.py [--users N ...] [--experiments N] [--seed N]

Each experiment draws users, and for every user the hits of three models at ten ranks: two equally
good ones, and a better one. The true means and differences are known in closed form: a 95 %
interval should cover them in 93 to 97 % of the experiments, and of the two equally good models a
test should find one better in 4 to 6 %. With 2,000 experiments a share is known to about 1 point
(two standard errors). The permutation test stays below its level where few users differ and all by
the same, as in hit: its p-values are far apart, and it never errs to the other side.
"""

import argparse
import math
import time

import numpy as np
from scipy.special import beta

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
    args = parser.parse_args()
    print(f"{args.experiments:,} experiments, seed {args.seed}\n")
    print(
        "| users | metric | interval covers: mean | no difference | difference | "
        + " | ".join(f"false positives: {test}" for test in TESTS)
        + " | time |"
    )
    print("| ---: | --- | ---: | ---: | ---: |" + " ---: |" * (len(TESTS) + 1))
    for n_users in args.users:
        report(n_users, args.experiments, args.seed)


def report(n_users, n_experiments, seed):
    """Print a row for each metric."""
    rng = np.random.default_rng(seed)
    means, boosted = truth(0.0), truth(BOOST)
    covered = {metric: np.zeros(3) for metric in means}
    false = {metric: dict.fromkeys(TESTS, 0) for metric in means}
    start = time.perf_counter()
    for _ in range(n_experiments):
        found = recmetrics.compare(
            experiment(n_users, rng), baseline="a", tests=TESTS, correction=None, rng=rng
        )
        for mean in found.means:
            if mean.model == "a":
                covered[mean.metric][0] += mean.low <= means[mean.metric] <= mean.high
        for each in found.differences:
            is_null = each.model == "equal"
            expected = 0.0 if is_null else boosted[each.metric] - means[each.metric]
            covered[each.metric][1 if is_null else 2] += each.low <= expected <= each.high
            for test in TESTS if is_null else ():
                false[each.metric][test] += each.p_values[test] < 0.05
    seconds = time.perf_counter() - start
    for metric in means:
        shares = [*covered[metric], *false[metric].values()]
        cells = " | ".join(f"{100 * share / n_experiments:.1f} %" for share in shares)
        print(f"| {n_users:,} | {metric} | {cells} | {seconds:.0f} s |", flush=True)


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
