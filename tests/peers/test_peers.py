"""The same numbers as the peers, under their conventions, and the gaps that are known."""

import json
import math

import numpy as np
import peers
import pytest
from inside import CONVENTIONS
from peers_run import Given, Groups

from recmetrics import Metrics

# --- Every line of the table ---------------------------------------------------------------------


def need(convention):
    """The module that calls a system, where the system is installed."""
    module = peers.installed(convention)
    if module is None:
        pytest.skip(f"{peers.ALL[convention].name} is not installed")
    return module


@pytest.mark.parametrize("convention", peers.RUNNABLE)
def test_every_line_of_the_table_is_what_the_system_computes(convention):
    module = need(convention)
    values, of_groups = peers.agreement_here(convention, 15, seed=1)
    assert (of_groups is None) != hasattr(module, "groups")
    without_gap = [line.call for line, _ in peers.calls_of(convention) if not line.gap]
    for found in (values, of_groups) if of_groups else (values,):
        assert sum(each.values for each in found.values()) > 0
        assert {call: found[call].differ for call in without_gap if found[call].differ} == {}


@pytest.mark.parametrize("convention", peers.RUNNABLE)
def test_the_page_was_measured_with_every_line_of_the_table(convention):
    recorded = json.loads(peers.AGREEMENT.read_text())[convention]
    # JAX compiles rax anew for each shape of a problem.
    assert recorded["problems"] >= (100 if convention == "rax" else 1000)
    assert recorded["version"] in peers.PROSE[convention].version
    assert ("groups" in recorded) == ("def groups(" in peers.module_of(convention).read_text())
    for figures in (recorded["calls"], recorded.get("groups", recorded["calls"])):
        assert list(figures) == [line.call for line, _ in peers.calls_of(convention)]
        for line, _ in peers.calls_of(convention):
            values, differ, _ = figures[line.call]
            assert values > 0
            assert not differ or line.gap, line.call


# --- The gaps ------------------------------------------------------------------------------------


def given(scores, truth, k=3):
    """A problem of one user."""
    scores = np.array([scores], float)
    nothing = np.zeros(scores.shape, int)
    return Given(scores, np.array([truth]), nothing.astype(bool), k, nothing)


def line(convention, metric):
    return next(line for line in CONVENTIONS[convention].lines if line.metric == metric)


def one(convention, metric, problem):
    """The value of the one user there and here."""
    found = line(convention, metric)
    here = peers.ours(convention, found, problem, peers.facts(convention))[0]
    return call(convention, found.call, problem), here


def call(convention, text, problem):
    """The value of the one user by any call."""
    return peers.theirs(need(convention), text, problem)[0]


@pytest.mark.parametrize("convention", ["trec", "ranx", "rectools", "torchmetrics"])
def test_precision_beyond_the_catalogue(convention):
    need(convention)
    there, here = one(convention, "precision@k", given([0.3, 0.2, 0.1], [1, 0, 1], k=5))
    assert (there, here) == (pytest.approx(2 / 5), pytest.approx(2 / 5))


def test_trec_eval_breaks_ties_by_the_last_name():
    need("trec")
    problem = given([1, 1, 1], [1, 0, 0])
    there, of_table = one("trec", "mrr", problem)
    of_arrays = Metrics.compute(problem.scores, problem.truth, "mrr", convention="trec")["mrr"]
    assert (there, of_table, of_arrays.tolist()) == (1 / 3, 1 / 3, [1])


def test_torchmetrics_counts_half_of_a_tied_pair_at_k():
    need("torchmetrics")
    there, here = one("torchmetrics", "auc@k", given([0.9, 0.5, 0.5, 0.1], [0, 0, 1, 0]))
    assert (there, here) == ((0 + 1 / 2) / 2, (0 + 0) / 2)  # pairs with the items 0 and 1
    assert "counts 1/2" in line("torchmetrics", "auc@k").gap


def test_irspack_breaks_ties_by_index():
    need("irspack")
    rng = np.random.default_rng(2)
    for _ in range(50):
        n_items = int(rng.integers(3, 100))
        tied, truth = rng.integers(0, 4, n_items), rng.integers(0, 2, n_items)
        truth[0] = 1
        there, here = one("irspack", "ndcg@k", given(tied, truth, k=min(5, n_items)))
        assert there == pytest.approx(here, rel=1e-12)


AVERAGED = [
    (convention, each.metric)
    for convention, system in CONVENTIONS.items()
    for each in (*system.lines, *system.variants)
    if each.ties == "expected"
]


@pytest.mark.parametrize("convention, metric", AVERAGED)
def test_ndcg_there_averages_over_ties(convention, metric):
    need(convention)
    problem = given([0.5, 0.5, 0.5], [1, 0, 0])
    there, here = one(convention, metric, problem)
    second, third = 1 / math.log2(3), 1 / math.log2(4)
    single = peers.facts(convention)["SINGLE"]
    expected = pytest.approx((1 + second + third) / 3, rel=1e-6 if single else 1e-12)
    assert (there, here) == (expected, expected)
    name = metric.replace("@k", "@3")
    by_index = Metrics.compute(
        problem.scores, problem.truth, name, convention=convention, ties="index"
    )
    assert by_index[name] == 1


@pytest.mark.parametrize(
    "system, metric", [("lightgbm", "ndcg@k"), ("xgboost", "ndcg@k"), ("xgboost", "map@k")]
)
def test_a_group_without_a_row_counts_as_one(system, metric):
    module = need(system)
    groups = Groups(np.array([0.2, 0.1]), np.array([0, 1]), np.array([2, 0]))
    (there,) = module.groups(line(system, metric).call.format(k=1), groups)
    text = metric.replace("k", "1")
    here = Metrics.compute_groups(
        groups.scores, groups.grades, text, sizes=groups.sizes, convention=system
    )
    assert (there, here[text].tolist()) == (0.5, [0, 1])


def test_torcheval_refuses_a_row_without_a_target():
    functional = need("torcheval").functional
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(RuntimeError, match="out of bounds"):
        functional.hit_rate(torch.ones(1, 3), torch.tensor([-1]), k=1)
    assert np.isnan(Metrics.compute([[1, 1, 1]], [-1], "hit@1")["hit@1"]).tolist() == [True]


def test_torcheval_reads_queries_of_many_targets():
    """Of three queries, the second has no target and the third fewer rows than k."""
    need("torcheval")
    import torch
    from torcheval.metrics import RetrievalPrecision

    scores, relevance = [0.9, 0.3, 0.6, 0.5, 0.4, 0.8], [1, 0, 1, 0, 0, 1]
    queries = [0, 0, 0, 1, 1, 2]
    expected = {"precision@2": [2 / 2, 0, 1 / 2], "precision(denom=list)@2": [2 / 2, 0, 1 / 1]}
    for metric, limit in zip(expected, (False, True), strict=True):
        there = RetrievalPrecision(k=2, limit_k_to_size=limit, num_queries=3)
        there.update(*map(torch.tensor, (scores, relevance, queries)))
        here = Metrics.compute_groups(scores, relevance, metric, ids=queries, undefined="zero")
        assert there.compute().tolist() == here[metric].tolist() == expected[metric]


def test_torcheval_ranks_the_target_before_its_ties():
    need("torcheval")
    problem = given([0.5, 0.5, 0.5], [0, 0, 1], k=1)
    there = call("torcheval", "reciprocal_rank(scores, target, k={k})", problem)
    best, by_index = (
        Metrics.mrr_at_k(problem.scores, [2], 1, ties=ties)[0] for ties in ("best", "index")
    )
    assert (there, best, by_index) == (1, 1, 0)


def test_keras_rs_ranks_masked_items_before_the_last_one():
    module = need("keras_rs")
    if module.os.environ["KERAS_BACKEND"] != "torch":
        pytest.skip("torch is not the backend of Keras")
    for low, rank in ((-1.0, 2), (-3.0, 3)):
        scores, grades = np.array([[low, 9.0, 0.0, 0.0]]), np.array([[1, 0, 0, 0]])
        there = module.mean("MeanReciprocalRank(seed=0)", grades, scores, scores != 0)
        assert there == pytest.approx(1 / rank)


def test_scikit_learn_takes_tied_items_as_one_step():
    need("sklearn")
    there, here = one("sklearn", "map", given([0.5, 0.5, 0.5], [1, 0, 0]))
    assert (there, here) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


@pytest.mark.parametrize("convention", ["sklearn", "torchmetrics"])
def test_ties_count_one_half_in_every_auc(convention):
    need(convention)
    there, here = one(convention, "auc", given([0.5, 0.5, 0.1], [1, 0, 0]))
    assert (there, here) == (pytest.approx(0.75), 0.75)


@pytest.mark.parametrize("metric", ["map@k", "mrr@k", "precision@k", "recall@k"])
def test_torchmetrics_loses_what_has_no_positive_score(metric):
    need("torchmetrics")
    there, here = one("torchmetrics", metric, given([-1, -2, -3], [1, 0, 0], k=1))
    assert (there, here) == (0, 1)


def test_torchmetrics_ties_large_scores_in_auc():
    need("torchmetrics")
    there, here = one("torchmetrics", "auc", given([20, 19, 18], [1, 0, 0]))
    assert (there, here) == (0.5, 1)


def test_ranx_weighs_the_hits_of_rbp_by_their_grade():
    need("ranx")
    from ranx import Qrels, Run, evaluate

    _, here = one("ranx", "rbp", given([3, 2, 1], [9, 0, 0]))
    with peers.quiet():
        there = evaluate(Qrels({"u": {"a": 9}}), Run({"u": {"a": 3.0, "b": 2.0}}), "rbp.80")
    assert (there, here) == (pytest.approx(9 * 0.2), pytest.approx(0.2))


def test_rectools_divides_by_k_where_asked():
    need("rectools")
    problem = given([3, 2, 1], [1, 0, 0])
    assert call("rectools", "MAP(k=3, divide_by_k=True)", problem) == pytest.approx(1 / 3)
    assert one("rectools", "map@k", problem) == (1, 1)
    plain, natural = (
        call("rectools", f"NDCG(k=3{base})", given([3, 2, 1], [0, 1, 0]))
        for base in ("", ", log_base=10")
    )
    assert plain == pytest.approx(natural)


def test_irspack_measures_entropy_in_nats():
    need("irspack")
    problem = given([4, 3, 2, 1], [1, 0, 0, 0], k=3)
    there = call("irspack", "Evaluator(truth, cutoff={k}): entropy", problem)
    here = Metrics.entropy_at_k(problem.scores, problem.truth, 3)
    assert (there, here) == (pytest.approx(math.log(3)), pytest.approx(math.log2(3)))


@pytest.mark.parametrize("metric", ["hit@k", "recall@k", "map@k"])
def test_torchmetrics_refuses_graded_truth(metric):
    retrieval = need("torchmetrics").retrieval
    torch = pytest.importorskip("torch", reason="torch is not installed")
    metric = eval(line("torchmetrics", metric).call.format(k=2), vars(retrieval))
    with pytest.raises(ValueError, match="binary"):
        metric.update(torch.ones(3), torch.tensor([2, 0, 1]), indexes=torch.zeros(3, dtype=int))
