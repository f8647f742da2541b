"""How long a decision from the states of many machines takes.

    python benchmarks/decide.py 10000

Each state has two models, two metrics and 10,000 users. The states are read and merged one by one.
"""

import sys
import time

import numpy as np

import recmetrics
from recmetrics import StreamEvaluator

N_USERS = 10_000
METRICS = ["ndcg@10", "recall@20"]


def state_of(seed):
    """The state of one machine."""
    rng = np.random.default_rng(seed)
    truth = rng.random((N_USERS, 50)) < 0.1
    old = rng.random(truth.shape)
    stream = StreamEvaluator(METRICS, keep="means")
    stream.update({"old": old, "new": old + 0.1 * truth}, truth)
    return stream.state()


def main():
    """Print the times."""
    n_states = int(sys.argv[1])
    states = [state_of(seed) for seed in range(20)]
    n_bytes = sum(array.nbytes for array in states[0].values())
    start = time.process_time()
    streams = [StreamEvaluator.from_state(states[i % len(states)]) for i in range(n_states)]
    is_read = time.process_time()
    whole = streams[0]
    for stream in streams[1:]:
        whole.merge(stream)
    is_merged = time.process_time()
    gate = recmetrics.compare(whole).gate("ndcg@10 >= -1%")
    is_judged = time.process_time()
    print(f"{n_states:,} states of {n_bytes:,} bytes, {n_states * N_USERS:,} users")
    print(f"read {is_read - start:.2f} s, merge {is_merged - is_read:.2f} s (of one core)")
    print(f"compare and gate {is_judged - is_merged:.3f} s; passed: {gate.passed}")


if __name__ == "__main__":
    main()
