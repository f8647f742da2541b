"""Two processes of torch.distributed, and what the tests run in them."""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from functools import cache, partial
from multiprocessing import get_context

import numpy as np
import torch
import torch.distributed as dist
from problems import plain_specs, side_information
from torch.utils.data import DataLoader, DistributedSampler

import recmetrics
from recmetrics import Evaluator, StreamEvaluator

N_USERS, N_ITEMS, WORLD = 37, 23, 2  # an odd number of users: the sampler pads
ALL = list(dict.fromkeys(str(spec) for k in (3, None) for spec in plain_specs(k)))


def problem():
    """Scores with ties, truth, exclude and side information, the same in every process."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 9, (N_USERS, N_ITEMS)).astype(np.float32)
    truth = (rng.random(scores.shape) < 0.2) * rng.integers(1, 4, scores.shape)
    truth[:, 0] = 0
    exclude = (rng.random(scores.shape) < 0.2) & (truth == 0)
    return scores, truth, {"exclude": exclude, **side_information(N_USERS, N_ITEMS)}


def batches(batch_size=4):
    """The users of this process, padded where they do not divide."""
    sampler = DistributedSampler(range(N_USERS), shuffle=True, seed=1)
    users = [users.numpy() for users in DataLoader(range(N_USERS), batch_size, sampler=sampler)]
    assert sum(map(len, users)) == sampler.num_samples == -(-N_USERS // WORLD)
    return users


def in_two_processes(work, *args):
    """What ``work(rank, *args)`` returned in each of two gloo processes."""
    with tempfile.TemporaryDirectory() as folder:
        pool = _two_processes()
        return list(pool.map(partial(_run, folder, work, args), range(WORLD)))


@cache
def _two_processes():
    """Started once: to import torch takes longer than the work of most tests."""
    return ProcessPoolExecutor(WORLD, get_context("spawn"))


def _run(folder, work, args, rank):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/meeting",
        rank=rank,
        world_size=WORLD,
        timeout=timedelta(seconds=120),  # where the other one failed
    )
    try:
        found = work(rank, *args)
        dist.barrier()  # one that ends just after a collective may abort: gloo holds its tensors
        return found
    finally:
        dist.destroy_process_group()


def error_of(call):
    """The type and the message of the error that ``call`` raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def stream_of_models(rows):
    """A stream of two models over some events."""
    scores, truth, _ = problem()
    stream = StreamEvaluator(["ndcg@3", "mrr", "coverage@3"], keep="means")
    models = {"old": scores[rows], "new": scores[rows] + truth[rows]}
    stream.update(models, truth[rows], by=rows % 2, weights=1.0 + rows % 3)
    return stream


def gather_models(rank):
    """What is decided in each process from the events of both, and the sums."""
    part = stream_of_models(np.array_split(np.arange(N_USERS), WORLD)[rank])
    whole = part.all_gather()
    return whole.state(), recmetrics.compare(whole).to_records()


def gather_streams(rank, keep, *, one_side):
    """A stream of the events of both processes, the first of which has one batch more, or all."""
    scores, truth, options = problem()
    options.pop("exclude")
    profile = options.pop("profile")
    stream = StreamEvaluator(ALL, keep=keep, n_items=N_ITEMS, **options)
    cuts = [slice(0, 10), slice(10, 20), slice(20, N_USERS)]
    for rows in cuts if one_side and not rank else [] if one_side else cuts[rank::WORLD]:
        stream.update(scores[rows], truth[rows], profile=profile[rows])
    whole = stream.all_gather()
    values = whole.compute() if keep == "values" else None
    return values, whole.mean(), whole.interval(), whole.counts(), stream.counts()


def gather_padded(_rank):
    """The results of both processes, whose sampler pads, in both; and how much came in here."""
    scores, truth, options = problem()
    evaluator = Evaluator(truth, ALL, **options)
    for users in batches():
        evaluator.update(scores[users], users)
    whole = evaluator.all_gather()
    own = int(evaluator.counts()["hit@3"].not_updated)
    return whole.compute(), whole.mean(prefix="val/"), whole.counts(), own


def gather_overlapping(rank):
    """Both have all users, the second process with the right scores."""
    scores, truth, options = problem()
    evaluator = Evaluator(truth, ALL, **options)
    evaluator.update(scores if rank else -scores)
    return evaluator.all_gather().compute()


def gather_one_side(rank):
    """The first process has no users at all."""
    scores, truth, options = problem()
    evaluator = Evaluator(truth, ALL, **options)
    if rank:
        evaluator.update(scores)
    return evaluator.all_gather().compute()


def gather_different(rank):
    """The processes do not measure the same."""
    scores, truth, _ = problem()
    evaluator = Evaluator(truth, ["hit@1", "hit@2"][rank])
    evaluator.update(scores)
    return error_of(evaluator.all_gather)


def gather_in_group(rank):
    """A group of the second process alone."""
    scores, truth, options = problem()
    group = dist.new_group([1])
    evaluator = Evaluator(truth, ALL, **options)
    evaluator.update(scores)
    if rank:
        return evaluator.all_gather(group).compute()
    return error_of(lambda: evaluator.all_gather(group))


def ranking_metrics(metrics=ALL, **more):
    """The torchmetrics metric of the problem."""
    from recmetrics.torchmetrics import RankingMetrics

    _, truth, options = problem()
    return RankingMetrics(truth, metrics, **options, **more)


def sync_padded(rank, empty=None):
    """What torchmetrics synchronises by itself; the process ``empty`` has no batch."""
    scores, _, _ = problem()
    metric = ranking_metrics(prefix="val/")
    for users in batches() if empty is None else [range(N_USERS)]:
        if rank != empty:
            metric.update(torch.from_numpy(scores[users]), torch.as_tensor(users))
    before = metric.evaluator().counts()
    with metric.sync_context(should_sync=True, distributed_available=lambda: True):
        values = metric.evaluator().compute()
    means = {key: value.item() for key, value in metric.compute().items()}
    assert metric.evaluator().counts() == before  # the states of this process are back
    return values, means


def forward_on_step(rank):
    """What forward gives: the value of the own batch, or with dist_sync_on_step of both."""
    scores, _, _ = problem()
    users = slice(10 * rank, 10 * rank + 10)
    got = []
    for on_step in (False, True):
        metric = ranking_metrics(["recall@3", "coverage@2"], dist_sync_on_step=on_step)
        got.append({k: v.item() for k, v in metric(torch.from_numpy(scores[users]), users).items()})
        assert metric.evaluator().counts()["coverage@2"].not_updated == N_USERS - 10
    return got


def sync_refused(rank, reason):
    """The error of a synchronised compute, and the users of the metric before, after and reset."""
    from recmetrics.torchmetrics import RankingMetrics

    scores, truth, _ = problem()
    truth[20] = 0  # of the second process
    metrics = ["hit@1", "hit@2"][rank] if reason == "metrics" else "mrr"
    metric = RankingMetrics(truth, metrics, undefined="raise")
    users = [range(10), range(10, 21)][rank]
    metric.update(torch.from_numpy(scores[users]), users)

    def users_here():
        return metric.evaluator().state()["users"].tolist()

    error = error_of(metric.compute)
    after = users_here()
    metric.update(torch.from_numpy(scores[[30]]), [30])
    updated = users_here()
    metric.reset()
    return error, after, updated, users_here()
