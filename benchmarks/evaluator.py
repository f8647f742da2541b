"""Measure updates of an Evaluator, merges, streams with groups, a validation beside torchmetrics.

    python benchmarks/evaluator.py           all four, some minutes
    python benchmarks/evaluator.py --quick   fewer repeats and users, to check that the script works

The update is compared with its kernels alone, which get arrays that are prepared before the clock
starts. The difference is the time of the Python code. Run it on a machine without other work.
"""

import argparse
import itertools
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from problems import SMALL, Problem, make
from timing import Ratio, environment, in_turn

from recmetrics import Evaluator, Metrics, StreamEvaluator
from recmetrics._core.inputs.read_sets import read_item_sets
from recmetrics._core.inputs.scores import ScoreMatrix
from recmetrics._core.inputs.sets import Rows
from recmetrics._core.selection import kernels, memory
from recmetrics._core.selection.hits import Views, empty_hits
from recmetrics._core.spec.request import Request

BATCH = 256
N_BATCHES = 40  # in an epoch
EIGHT = [f"{name}@{k}" for name in ("ndcg", "recall", "map", "hit") for k in (10, 20)]
COLUMNS = {"ndcg@20": ["ndcg@20"], "eight columns": EIGHT}
TARGET = 1.3
# What torchmetrics computes alike: its recall divides by R, its precision by k.
TORCHMETRICS = {
    "ndcg@20": "RetrievalNormalizedDCG",
    "recall(denom=relevant)@20": "RetrievalRecall",
    "precision@20": "RetrievalPrecision",
    "hit@20": "RetrievalHitRate",
}


def kernels_alone(problem: Problem, metrics: list[str]) -> Callable[[], Any]:
    """One batch by the jitted functions alone: selection, then one kernel per metric."""
    request = Request(metrics)
    n_users, n_items = problem.scores.shape
    block = ScoreMatrix(problem.scores).block(slice(0, n_users))
    relevant = read_item_sets(problem.truth, "truth", (n_users, n_items)).rows(slice(0, n_users))
    cutoffs = request.cutoffs(n_items)
    k = cutoffs.hits or 0
    top = empty_hits(relevant.start, relevant.values, ties=False)
    dtype = block.values.dtype
    work = kernels.RankMemory(
        memory.lanes_for(k, n_items, dtype),
        memory.pool_for(k, n_items, dtype),
        memory.possible_hits_for(relevant.start, ties=False),
        np.empty(0, dtype),
    )
    select = partial(
        kernels.rank_rows,
        block,
        block.bits,
        relevant,
        Rows.none(n_users),
        k,
        top,
        None,
        np.zeros(1, np.bool_),
        work,
        None,
    )
    select()
    views = Views(top)
    measure = []
    for text, (spec, ties, _) in request.definitions.items():
        cutoff = cutoffs.of[text]
        view = views.view(ties, cutoff, spec.values)
        out = np.empty(n_users)
        measure.append(partial(spec.metric.kernel, view, cutoff, out, *spec.kernel_arguments))

    def run() -> None:
        select()
        for kernel in measure:
            kernel()

    return run


def epochs(evaluator: Evaluator, scores: np.ndarray) -> Callable[[], None]:
    """Add the next batch of users, as a loop of epochs does."""
    numbers = itertools.cycle(range(N_BATCHES))

    def update() -> None:
        number = next(numbers)
        if number == 0:
            evaluator.reset()
        evaluator.update(scores, np.arange(number * BATCH, (number + 1) * BATCH))

    return update


def updates(repeats: int) -> None:
    """Print an update over its kernels."""
    print(f"Evaluator.update of {BATCH} x {SMALL[1]:,} float32 over selection and kernels alone")
    problem = make((BATCH, SMALL[1]))
    truth = sp.vstack([problem.truth] * N_BATCHES, format="csr")
    for name, metrics in COLUMNS.items():
        for n_threads, threads in ((1, "one thread"), (None, "all cores")):
            update = epochs(Evaluator(truth, metrics, n_threads=n_threads), problem.scores)
            alone = kernels_alone(problem, metrics)
            update(), alone()
            ratio = in_turn(update, alone, repeats)
            met = "" if ratio.value <= TARGET else f"; target {TARGET}"
            print(f"  {name + ', ' + threads:<28}{show(ratio)}{met}")


def streams(n_batches: int, repeats: int) -> None:
    """Print a stream of several models with groups over one without, up to its sums."""
    n_models, n_groups, n_rows = 5, 50, 100
    print(
        f"\nA stream of {n_models} models, {n_batches} x {n_rows} events, over one without groups"
    )
    problem = make((n_rows, 200))
    models = {f"model {number}": problem.scores + number for number in range(n_models)}
    generator = np.random.default_rng(0)
    groups = generator.integers(0, n_groups, n_rows)
    weights = generator.random(n_rows)

    def sums(**labels: Any) -> dict[str, Any]:
        stream = StreamEvaluator(["mrr", "hit@10"], keep="means")
        for _ in range(n_batches):
            stream.update(models, problem.truth, **labels)
        return stream.state()

    labels = {"groups": {"by": groups}, "groups and weights": {"by": groups, "weights": weights}}
    for name, labels_of_events in labels.items():
        ratio = in_turn(partial(sums, **labels_of_events), sums, repeats)
        print(f"  {f'{n_groups} {name}':<28}{show(ratio)}")


def merges(repeats: int) -> None:
    """Print the merge of states of small parts among many users, over that among few."""
    n_parts, n_rows = 40, 100
    sizes = {"few": n_parts * n_rows, "many": 100 * n_parts * n_rows}
    problem = make((n_rows, 200))
    states: dict[str, list[dict[str, Any]]] = {}
    for name, n_users in sizes.items():
        states[name] = []
        for users in np.array_split(np.arange(n_parts * n_rows), n_parts):
            part = Evaluator(problem.truth, ["mrr", "hit@10"], users=users, n_users=n_users)
            part.update(problem.scores)
            states[name].append(part.state())

    def merged(name: str) -> dict[str, Any]:
        return reduce(Evaluator.merge, map(Evaluator.from_state, states[name])).counts()

    print(f"\nA merge of {n_parts} x {n_rows} of {sizes['many']:,} users, over all of them")
    ratio = in_turn(partial(merged, "many"), partial(merged, "few"), repeats)
    print(f"  {'states':<28}{show(ratio)}")


def validations(problem: Problem, repeats: int) -> None:
    """Print a whole validation beside that of torchmetrics, batch by batch."""
    import torch
    import torchmetrics.retrieval

    n_users, n_items = problem.scores.shape
    print(f"\nA validation of {n_users:,} x {n_items:,} in batches of {BATCH}, four metrics")
    metrics = list(TORCHMETRICS)
    evaluator = Evaluator(problem.truth, metrics)
    batches = [np.arange(n_users)[first : first + BATCH] for first in range(0, n_users, BATCH)]

    def ours() -> dict[str, float]:
        evaluator.reset()
        for users in batches:
            evaluator.update(problem.scores[users[0] : users[-1] + 1], users)
        return evaluator.mean()

    classes = {name: getattr(torchmetrics.retrieval, kind) for name, kind in TORCHMETRICS.items()}
    # Its metrics take flat tensors: a score, a relevance and the number of the user for each pair.
    theirs = torchmetrics.MetricCollection({n: cls(top_k=20) for n, cls in classes.items()})
    truth = torch.from_numpy(problem.truth.toarray().astype(np.int64))
    scores = torch.from_numpy(problem.scores)

    def retrieval() -> dict[str, float]:
        theirs.reset()
        for users in batches:
            rows = slice(users[0], users[-1] + 1)
            indexes = torch.from_numpy(users).repeat_interleave(n_items)
            theirs.update(scores[rows].reshape(-1), truth[rows].reshape(-1), indexes=indexes)
        return {name: value.item() for name, value in theirs.compute().items()}

    means, values = ours(), retrieval()
    expected = Metrics.compute(*problem, metrics)
    for name, mean in means.items():
        assert mean == expected[name].mean()
        np.testing.assert_allclose(values[name], mean, rtol=1e-4)
    ratio = in_turn(retrieval, ours, repeats)
    print(f"  torchmetrics over Evaluator  {show(ratio)}")


def show(ratio: Ratio) -> str:
    """The ratio, its quartiles, and both times."""
    quartiles = f"({ratio.low:.2f} to {ratio.high:.2f})"
    return f"{ratio.value:8.2f} {quartiles:<18}{ratio.ms:10.3f} / {ratio.other_ms:.3f} ms"


def main() -> None:
    """Run all four."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="checks the script alone")
    quick = parser.parse_args().quick
    about = environment()
    print(f"{about['processor']}, {about['cores']} cores; {about['date']}\n")
    updates(5 if quick else 51)
    streams(5 if quick else 100, 1 if quick else 9)
    merges(1 if quick else 9)
    users, items = SMALL
    # torchmetrics goes through the users one by one: more of them only take longer.
    problem = make((users // 50 if quick else users // 10, items), "informed")
    validations(problem, 1 if quick else 5)


if __name__ == "__main__":
    main()
