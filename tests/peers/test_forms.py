"""Runs and judgements as dicts and as files get the values of the systems that read these forms."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import peers
import pytest

from recmetrics.tables import evaluate_table

# Of trec_eval the names of measures, of recmetrics the metrics.
TREC = {
    "map": "map(denom=relevant)",
    "recip_rank": "mrr",
    "P_5": "precision@5",
    "recall_10": "recall(denom=relevant)@10",
    "ndcg": "ndcg(ideal_depth=all)",
    "ndcg_cut_10": "ndcg@10",
    "Rprec": "r_precision",
}
QUERIES = 40
RUN_OF_TREC = "TREC_EVAL_TEST"  # names the folder test/ of usnistgov/trec_eval


def graded_run():
    """A run with equal scores; qrels with negative judgements and a relevant item of each query."""
    rng = np.random.default_rng(0)
    run = {}
    qrels = {}
    for query in map(str, range(QUERIES)):
        items = rng.permutation(60)
        run[query] = {f"d{item}": float(rng.integers(20)) / 4 for item in items[:30]}
        qrels[query] = {f"d{item}": int(rng.integers(-2, 4)) for item in items[20:]}
        qrels[query][f"d{items[0]}"] = 1
    return run, qrels


def distinct_run():
    """The run without equal scores, and the relevant judgements: systems agree on these."""
    run, qrels = graded_run()
    for scores in run.values():
        for place, item in enumerate(scores):
            scores[item] += place / 1000
    relevant = {
        query: {item: grade for item, grade in judged.items() if grade > 0}
        for query, judged in qrels.items()
    }
    return run, relevant


def write_run(folder, run, qrels):
    """The paths of a run and of qrels as trec_eval reads them."""
    run_path = folder / "results.run"
    run_path.write_text(
        "".join(f"{q} Q0 {d} 1 {score!r} x\n" for q, row in run.items() for d, score in row.items())
    )
    qrels_path = folder / "qrels.txt"
    qrels_path.write_text(
        "".join(f"{q} 0 {d} {grade}\n" for q, row in qrels.items() for d, grade in row.items())
    )
    return run_path, qrels_path


def by_query(table, metrics):
    """The values of each query by name, from a table of any library."""
    queries = list(table["user"]) if "user" in table else list(table.index)
    return {
        metric: dict(zip(map(str, queries), map(float, table[metric]), strict=True))
        for metric in metrics
    }


def assert_trec_eval(run, qrels, recs, truth):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    measures = {"map", "recip_rank", "P.5", "recall.10", "ndcg", "ndcg_cut.10", "Rprec"}
    there = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    here = by_query(evaluate_table(recs, truth, [*TREC.values()], convention="trec"), TREC.values())
    for measure, metric in TREC.items():
        expected = {query: values[measure] for query, values in there.items()}
        assert here[metric] == pytest.approx(expected, rel=1e-14, abs=1e-15), measure


def test_dicts_get_the_values_of_trec_eval():
    assert_trec_eval(*graded_run(), *graded_run())


def test_files_get_the_values_of_trec_eval(tmp_path):
    run, qrels = graded_run()
    assert_trec_eval(run, qrels, *write_run(tmp_path, run, qrels))


def read_lines(path, value):
    """A dict of dicts from a file of trec_eval: item and value by column."""
    forms = {}
    for line in path.read_text().splitlines():
        columns = line.split()
        forms.setdefault(columns[0], {})[columns[2]] = value(columns)
    return forms


def test_the_test_run_of_trec_eval():
    """By evaluate_table and by the command; out.test.a is what trec_eval itself printed."""
    if RUN_OF_TREC not in os.environ:
        pytest.skip(f"{RUN_OF_TREC} names no folder")
    folder = Path(os.environ[RUN_OF_TREC])
    recs, truth = folder / "results.test", folder / "qrels.test"
    run = read_lines(recs, lambda columns: float(columns[4]))
    qrels = read_lines(truth, lambda columns: int(columns[3]))
    assert_trec_eval(run, qrels, recs, truth)
    command = [sys.executable, "-m", "recmetrics", "evaluate", recs, truth, "-m", *TREC.values()]
    command += ["--convention", "trec", "--json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    means = {row["metric"]: row["mean"] for row in answer["means"]}
    lines = (line.split() for line in (folder / "out.test.a").read_text().splitlines())
    printed = {words[0]: words[-1] for words in lines}
    assert {m: f"{means[metric]:.4f}" for m, metric in TREC.items()} == {
        m: printed[m] for m in TREC
    }


def test_dicts_get_the_values_of_ranx():
    if peers.installed("ranx") is None:  # imported without its machine code
        pytest.skip("ranx is not installed")
    run, qrels = distinct_run()
    names = {"map": "map", "mrr": "mrr", "ndcg@10": "ndcg@10", "recall@10": "recall@10"}
    with peers.quiet():
        from ranx import Qrels, Run, evaluate

        there = evaluate(Qrels(qrels), Run(run), [*names])
    here = evaluate_table(run, qrels, [*names], convention="ranx")
    assert {name: float(here[name].mean()) for name in names} == pytest.approx(there, rel=1e-13)


def test_dicts_get_the_values_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    run, qrels = distinct_run()
    names = {"AP": "map(denom=relevant)", "RR": "mrr", "nDCG@10": "ndcg@10", "P@5": "precision@5"}
    measures = [ir_measures.parse_measure(name) for name in names]
    there = ir_measures.calc_aggregate(measures, qrels, run)
    here = evaluate_table(run, qrels, [*names.values()], convention="trec")
    expected = {names[str(measure)]: value for measure, value in there.items()}
    assert {name: float(here[name].mean()) for name in expected} == pytest.approx(
        expected, rel=1e-13
    )


def test_judged_at_k_is_precision_with_every_judgement_relevant():
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    run, _ = distinct_run()
    _, qrels = graded_run()
    measure = ir_measures.parse_measure("Judged@10")
    there = {value.query_id: value.value for value in measure.iter_calc(qrels, run)}
    judged = {query: dict.fromkeys(grades, 1) for query, grades in qrels.items()}
    here = evaluate_table(run, judged, "precision(denom=list)@10")
    assert here["precision(denom=list)@10"].to_dict() == pytest.approx(there, rel=1e-13)
