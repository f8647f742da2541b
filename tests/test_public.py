"""What a user sees without calling anything: names, signatures, docstrings, types, imports."""

import ast
import importlib
import importlib.resources
import importlib.util
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import typing
import weakref
from pathlib import Path
from types import UnionType

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import python
from inside import METRICS, in_python
from problems import side_information

import recmetrics
from recmetrics import Metrics
from recmetrics._core import jit, types
from recmetrics._core.options import ForBatches, ForGroups, ForRankings, ForRanks, ForTruth, Shared

EVERY_METRIC = pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
ROOT = Path(recmetrics.__file__).parents[1]
PUBLIC = [getattr(recmetrics, name) for name in recmetrics.__all__]
METHODS = {
    name: method
    for name, method in inspect.getmembers(Metrics, inspect.isfunction)
    if not name.startswith("_")
}
CLASSES = [
    each for each in PUBLIC if inspect.isclass(each) and not issubclass(each, tuple | Exception)
]
FUNCTIONS = [
    *filter(inspect.isfunction, PUBLIC),
    *(
        member
        for each in CLASSES
        for name, member in inspect.getmembers(each, inspect.isroutine)
        if not name.startswith("_")
    ),
]
_ALIASES = (typing.Literal, typing.Union, UnionType)
ONLY_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def keywords(function):
    """The keyword-only parameters of a function: name and default, in order."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is ONLY_KEYWORD}


# --- Names ---------------------------------------------------------------------------------------


def test_all_is_sorted_and_complete():
    assert recmetrics.__all__ == sorted(recmetrics.__all__)
    public = {
        name
        for name, value in vars(recmetrics).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public == set(recmetrics.__all__)


@pytest.mark.parametrize(
    "part, package", [("dask", "dask"), ("spark", "narwhals"), ("tables", "narwhals")]
)
def test_a_part_is_imported_when_it_is_first_named(part, package):
    pytest.importorskip(package, reason=f"{package} is not installed")
    assert recmetrics.__getattr__(part).__name__ == f"recmetrics.{part}"


@pytest.mark.parametrize(
    "report",
    [
        recmetrics.explain("hit"),
        recmetrics.identify([[2, 1]], [[1, 0]], 1.0, "hit@1"),
        recmetrics.summary({"hit@1": [0.0, 1.0]}),
    ],
    ids=lambda report: type(report).__name__,
)
def test_reports_may_be_keys_of_a_cache(report):
    assert weakref.WeakKeyDictionary({report: 1})[report] == 1


def test_the_version_is_a_version():
    assert all(part.isdecimal() for part in recmetrics.__version__.split("."))


def test_public_objects_and_methods_have_docstrings():
    objects = [each for each in PUBLIC if inspect.isclass(each) or inspect.isfunction(each)]
    documented = [*objects, *METHODS.values(), recmetrics]
    assert [each for each in documented if not (each.__doc__ or "").strip()] == []


def test_help_shows_the_names_of_types():
    # Not what they stand for, which fills a screen: 27 systems, or all forms of a truth.
    for function in FUNCTIONS:
        assert isinstance(inspect.signature(function).return_annotation, str), function


def test_what_is_taken_and_returned_can_be_imported():
    """For annotations: types of arguments and results, and of the fields of results."""
    hidden = set()
    for function_or_class in [*FUNCTIONS, *CLASSES]:
        annotations = inspect.get_annotations(function_or_class)
        texts = [text for name, text in annotations.items() if not name.startswith("_")]
        words = re.findall(r"\w+", " ".join(text for text in texts if "Unpack" not in text))
        known = vars(sys.modules[function_or_class.__module__])
        for name in {*words} - {*recmetrics.__all__}:
            module = known[name].__module__ if inspect.isclass(known.get(name)) else ""
            is_alias = typing.get_origin(known.get(name)) in _ALIASES
            if is_alias or name in types.__annotations__ or module.startswith("recmetrics"):
                hidden.add(name)
    # Of the definitions, which nobody asks for; of what ``identify`` finds; of single words.
    in_matches = {"NoTruth", "Ring", "TieOrder", "TruthOf", "UserWeight"}
    assert hidden == {"Origin", *in_matches, "Frames", "Method", "Table"}


def test_the_package_is_typed():
    assert importlib.resources.files(recmetrics).joinpath("py.typed").is_file()


# --- Methods -------------------------------------------------------------------------------------


def test_every_method_is_a_metric_or_an_entry_point():
    assert set(METHODS) == {m.method for m in METRICS.values()} | {
        "ceiling",
        "chance",
        "compute",
        "compute_factors",
        "compute_groups",
        "compute_ranked",
        "evaluate",
        "from_sampled",
        "ranks",
        "ranks_factors",
    }


@EVERY_METRIC
def test_the_method_of_a_metric_shows_all_that_it_takes(metric):
    method = getattr(Metrics, metric.method)
    positional = ["pred_scores", "ground_truth", "k"]
    own = {name: option.default for name, option in metric.options.items()}
    shared = keywords(Metrics.compute) | ({"of": None} if metric.reads == "hits" else {})
    parameters = inspect.signature(method).parameters
    assert list(parameters) == [*positional, *own, *shared]
    assert keywords(method) == own | shared
    assert parameters["k"].default == (None if metric.at_k else 100)
    # help() describes each option, in lines as wide as those of other docstrings.
    lines = method.__doc__.splitlines()
    assert [line.split(" : ")[0] for line in lines if " : " in line] == [*own, *{"of"} & {*shared}]
    assert max(map(len, lines)) <= 96
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())


def test_another_process_finds_every_method_by_its_name():
    # As with multiprocessing and joblib, whose processes get functions as pickles.
    for name, method in METHODS.items():
        assert pickle.loads(pickle.dumps(method)) is method, name


def test_the_shared_keywords_are_the_same_everywhere():
    shared = keywords(Metrics.compute)
    assert list(shared) == list(typing.get_type_hints(Shared))
    compute = typing.get_type_hints(Metrics.compute)
    assert {name: compute[name] for name in shared} == typing.get_type_hints(Shared)
    for function, own, names in (
        (
            Metrics.compute_ranked,
            {"n_items": None, "repeats": "raise", "unknown": "raise"},
            ForRankings,
        ),
        (Metrics.compute_factors, {"item_bias": None}, Shared),
        (Metrics.compute_groups, {"sizes": None, "ids": None}, ForGroups),
        (Metrics.chance, {"n_items": None}, ForTruth),
        (Metrics.ceiling, {"n_items": None}, ForTruth),
        (Metrics.ranks, {}, ForRanks),
        (Metrics.ranks_factors, {"item_bias": None}, ForRanks),
        (recmetrics.Evaluator, {"n_items": None, "users": None, "n_users": None}, ForBatches),
    ):
        expected = own | {name: shared[name] for name in typing.get_type_hints(names)}
        assert keywords(function) == expected


@pytest.mark.parametrize("name", ["compute_factors", "compute_ranked", "chance", "ceiling"])
def test_a_keyword_that_a_method_does_not_take_is_refused(name):
    method = getattr(Metrics, name)
    for keyword in {"undefinde", *keywords(Metrics.compute)} - set(keywords(method)):
        with pytest.raises(
            TypeError, match=rf"^Metrics.{name}\(\) got an unexpected .* '{keyword}'(; .*)?$"
        ):
            method([[1.0]], [[1.0]], [[1]], "hit@1", **{keyword: None})


def test_the_first_three_parameters_are_those_of_rectorch():
    parameters = list(inspect.signature(Metrics.compute).parameters)
    assert parameters[:3] == ["pred_scores", "ground_truth", "metrics_list"]


@EVERY_METRIC
def test_the_method_of_a_metric_is_the_metric(metric):
    scores, truth = [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]], [[0, 2, 1], [1, 0, 0]]
    method = getattr(Metrics, metric.method)
    spec = f"{metric.name}@2"
    options = {"exclude": [[2], []]} | side_information(2, 3)
    expected = Metrics.compute(scores, truth, spec, **options)[spec]
    np.testing.assert_array_equal(method(scores, truth, 2, **options), expected)
    named = method(pred_scores=scores, ground_truth=truth, **options)
    at_default = f"{metric.name}@100" if metric.default_k else metric.name
    expected = Metrics.compute(scores, truth, at_default, **options)[at_default]
    np.testing.assert_array_equal(named, expected)


# --- Progress ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_users", [0, 1, 5000])
def test_a_callable_gets_rows_done_and_rows(n_users, n_threads):
    seen = []
    scores, truth = np.zeros((n_users, 300)), sp.csr_array((n_users, 300))
    Metrics.compute(
        scores,
        truth,
        "hit@1",
        progress=lambda done, rows: seen.append((done, rows)),
        n_threads=n_threads,
    )
    assert seen == sorted(seen)
    assert seen[-1] == (n_users, n_users)
    assert {rows for _, rows in seen} == {n_users}


def test_progress_of_rankings():
    seen = []
    Metrics.compute_ranked([[0], [1]], [[0], [0]], "hit@1", progress=lambda *n: seen.append(n))
    assert seen == [(2, 2)]


SOME_WITHOUT = [[1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    "metrics, expected",
    [
        (["hit@1", "mrr", "coverage@1"], ["left out: 2 of 4 users have no relevant item"]),
        (["serendipity@1", "hit@1"], ["left out: 2 of 4 users have no relevant item"]),
        (
            ["hit@1", "auc", "mrr"],
            [
                "left out of hit@1, mrr: 2 of 4 users have no relevant item",
                "left out of auc: 3 of 4 users have no relevant item, or only relevant ones",
            ],
        ),
        (
            ["diversity@1", "hit@1"],
            [
                "left out of diversity@1: 4 of 4 users have no value (a list of fewer than two "
                "items)",
                "left out of hit@1: 2 of 4 users have no relevant item",
            ],
        ),
        (["dcg@1", "coverage@1"], []),
    ],
)
def test_progress_says_how_many_users_a_mean_is_over(capsys, metrics, expected):
    side = {"popularity": np.full(3, 0.5), "features": np.eye(3)}
    scores, ranking = np.tile([3.0, 2.0, 1.0], (4, 1)), np.tile([0, 1, 2], (4, 1))
    advice = "to count users without a value as 0, give undefined='zero'"
    for call, first in ((Metrics.compute, scores), (Metrics.compute_ranked, ranking)):
        call(first, np.array(SOME_WITHOUT), metrics, progress=True, **side)
        lines = capsys.readouterr().err.splitlines()
        assert [line for line in lines if line.startswith("left out")] == expected
        # 0 never stands for a list that is too short.
        assert (advice in lines) == (bool(expected) and "diversity@1" not in metrics)


def test_where_nothing_is_to_show_nothing_is_said(capsys):
    scores = np.tile([3.0, 2.0, 1.0], (4, 1))
    for progress in (None, False, lambda *_: None):
        Metrics.compute(scores, SOME_WITHOUT, "hit@1", progress=progress)
    Metrics.compute(scores, SOME_WITHOUT, "hit@1", undefined="zero", progress=True)
    Metrics.compute(scores[:1], SOME_WITHOUT[:1], "hit@1", progress=True)
    printed = capsys.readouterr()
    assert "left out" not in printed.err + printed.out
    assert "undefined" not in printed.err + printed.out


def test_an_error_in_a_callable_reaches_the_caller():
    def stop(*_):
        raise KeyboardInterrupt

    scores, truth = np.zeros((5000, 300)), sp.csr_array((5000, 300))
    for n_threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            Metrics.compute(scores, truth, "hit@1", progress=stop, n_threads=n_threads)


def test_true_says_that_a_first_call_compiles(tmp_path):
    pytest.importorskip("tqdm", reason="progress bars need tqdm")
    call = "import recmetrics; recmetrics.Metrics.compute_ranked([[1]], [[1]], 'hit@1', {})"

    def said(progress):
        environment = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
        environment["RECMETRICS_JIT"] = "always"
        return python("-c", call.format(progress), **environment).stderr

    first = said("progress=True")
    assert "compiling: " in first
    assert first.endswith("\ncompiling the metrics\n")
    assert "compiling" not in said("progress=True")
    assert not said("progress=None")


def test_a_bar_is_shown_if_asked_and_with_tqdm(capsys, monkeypatch):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    Metrics.compute([[1.0, 2.0]], [[1, 0]], "hit@1", progress=True)
    assert "1/1" in capsys.readouterr().err
    Metrics.compute([[1.0, 2.0]], [[1, 0]], "hit@1", progress=False)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # importing it fails
    Metrics.compute([[1.0, 2.0]], [[1, 0]], "hit@1", progress=True)
    assert capsys.readouterr() == ("", "")


# --- Imports -------------------------------------------------------------------------------------


def test_importing_pulls_in_no_more_than_it_needs():
    script = (
        "import json, sys; before = set(sys.modules); import recmetrics; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    modules = json.loads(python("-W", "error", "-c", script, cwd=ROOT).stdout)
    packages = {name.partition(".")[0] for name in modules}
    unwanted = "IPython ml_dtypes matplotlib pandas polars pytest sklearn torch tqdm"
    assert packages & set(unwanted.split()) == set()
    scipy = {".".join(name.split(".")[:2]) for name in modules if name.startswith("scipy.")}
    public = {name for name in scipy if not name.startswith("scipy._")}
    # scipy.sparse, and what it and Numba's BLAS bindings import themselves.
    assert public - {"scipy.version", "scipy.linalg", "scipy.special"} == {"scipy.sparse"}
    assert not any(name.startswith("recmetrics.cli") for name in modules)


# --- Types ---------------------------------------------------------------------------------------

RIGHT = """
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import recmetrics
import scipy.sparse as sp
import torch
from recmetrics import Metrics
from recmetrics.tables import RecListAnalysis, TableSummary, evaluate_table
from recmetrics.torchmetrics import RankingMetrics

scores = np.zeros((2, 3), dtype=np.float32)
sparse = sp.csr_array((2, 3))
lists = [np.array([0]), np.array([1, 2])]
values: dict[str, npt.NDArray[np.float64]] = Metrics.compute(
    scores, sparse, ["ndcg@10"], exclude=lists, undefined="zero", n_threads=2
)
one: npt.NDArray[np.float64] = Metrics.ndcg_at_k(scores, lists, k=5, gain="exp2", nan="exclude")
Metrics.ndcg_at_k(scores, lists, discount=lambda rank: 1 / rank)
Metrics.compute([[1.0, 2.0]], [[0, 1]], "hit@1", candidates=[0, 1], progress=True)
Metrics.compute_ranked(np.array([[0, 1]]), [[1]], ["map"], undefined="raise")
Metrics.auc(scores, sparse, rel=2.0)
Metrics.auc(scores, sparse, 5)
Metrics.ndcg_at_k(scores, sparse, gain="binary", discount="reciprocal", rel=2)
Metrics.map_at_k(scores, sparse, over="ranks")
shares = recmetrics.popularity_from(sparse)
Metrics.novelty_at_k(scores, lists, k=5, denom="k", unseen="skip", popularity=shares)
Metrics.diversity_at_k(scores, lists, features=sparse.T, undefined="zero")
Metrics.compute_ranked(lists, sparse, "calibration", genres=sparse.T, profile=scores[:, :2])
Metrics.ndcg_at_k(scores, lists, convention="ranx", undefined=None)
Metrics.compute_factors(scores, scores[[0, 1, 1]], lists, "mrr", exclude=sparse, ties="best")
Metrics.compute(scores, lists, "mrr", ties="range")["mrr[least]"]
Metrics.chance(lists, ["hit@1"], n_items=5, candidates=[0, 1], undefined="zero")
evaluator = recmetrics.Evaluator(lists, "hit@1", n_items=3, exclude=sparse, nan="exclude")
evaluator.update(scores, slice(0, 2))
mean: float = evaluator.mean(prefix="val/")["val/hit@1"]
formula: str = recmetrics.explain("ndcg@10", convention="rectools").formula
comparison: recmetrics.Comparison = recmetrics.compare(
    {"a": values, "b": values}, baseline="a", tests=["t", "wilcoxon"], correction=None, rng=0
)
share: float = comparison.differences[0].difference
for users in (np.arange(2), pd.Series(["a", "b"]), pl.Series([1, 2]), ["a", "b"]):
    comparison.movers("ndcg@10", users=users)
if (worst := comparison.worst_group("ndcg@10", "b", "a")) is not None:
    share = worst.difference
if (low := comparison.worst_group("ndcg@10", "b")) is not None:
    share = low.mean
same: dict[str, npt.NDArray[np.float64]] = recmetrics.overlap(
    scores, (scores, np.eye(3), [0.0, 1.0, 2.0]), ["rbo(p=0.9)@10"], exclude=lists, nan="exclude"
)
recmetrics.overlap_ranked(lists, np.array([[0], [1]]), "overlap@10", n_items=3, repeats="drop")
found: recmetrics.Summary = recmetrics.summary(values, by=["x", "y"], confidence=0.9, rng=None)
means: dict[str, float] = found.means
in_polars: pl.DataFrame = comparison.to_frame("means", backend="polars")
in_polars = found.to_frame(backend="polars")
in_polars = comparison.gate("ndcg@10 >= -0.1").to_frame(backend="polars")
np.savez("state.npz", **evaluator.state())
state: dict[str, npt.NDArray[np.float64]] = evaluator.state()
recmetrics.Evaluator.from_state(state).merge(recmetrics.Evaluator.from_state(evaluator.state()))
weighted: dict[str, float] = evaluator.mean(weights=np.ones(2))
evaluator.update(scores, np.array([1, 0]))
evaluator.update(scores, torch.tensor([1, 0]))
evaluator.update(torch.zeros(2, 3), torch.arange(2, dtype=torch.int32))
evaluator.update(scores, range(2))
evaluator.update(scores, (1, 0))
evaluator.update(scores, [1, 0])
evaluator.update(scores, pd.Series([1, 0]))
evaluator.update(scores, pl.Series([1, 0]))
evaluator.update(scores, pa.array([1, 0]))
evaluator.update_factors(scores, scores[[0, 1, 1]], users=range(2))
evaluator.update_ranked(lists, pd.Series([1, 0]), repeats="drop")
tensors = [torch.tensor([0]), torch.tensor([1, 2])]
Metrics.compute([torch.zeros(3), torch.ones(3)], tensors, "hit@1", exclude=[{1}, {0}])
Metrics.compute(scores, [{0}, {1, 2}], "hit(of=tail)@1", candidates={0, 1}, strata={"tail": {1}})
Metrics.compute_ranked((torch.tensor([[0], [1]]), torch.ones(2, 1)), tensors, "hit@1", n_items=3)
for ids in (pd.Series([1, 1]), pl.Series([1, 1]), torch.tensor([1, 1]), ["q7", "q7"]):
    Metrics.compute_groups([0.5, 0.1], [1, 0], "mrr", ids=ids)
Metrics.from_sampled([1, 2], "hit@1", n_sampled=2, n_items=[4, 5])
recmetrics.Evaluation({"hit@1": [0.0, 1.0], "coverage@1": np.array(0.5, dtype=np.float32)})
RankingMetrics(lists, "hit@1", n_items=3).update(torch.zeros(2, 3), torch.tensor([1, 0]))
recs = pl.DataFrame({"user": ["a", "a"], "item": [1, 2], "score": [0.9, 0.1]})
relevant = pl.DataFrame({"user": ["a"], "item": [2]})
of_polars: pl.DataFrame = evaluate_table(recs, relevant, ["ndcg@10", "hit@1"], by=["user"][1:])
both: tuple[pl.DataFrame, TableSummary] = evaluate_table(
    recs, relevant, "coverage@1", catalogue=recs, undefined="zero", return_summary=True
)
of_pandas: pd.DataFrame = evaluate_table(recs.to_pandas(), relevant.to_pandas(), "mrr")
of_arrow: pa.Table = evaluate_table(recs.to_arrow(), relevant.to_arrow(), "mrr", score="score")
either = evaluate_table(recs, relevant, "mrr", return_summary=bool(len(recs)))
counts: int = evaluate_table(recs, relevant, "mrr", return_summary=True)[1].n_lists
counts = evaluate_table({"a": [1]}, {"a": [1]}, "mrr", return_summary=True)[1].n_lists
of_buckets: pl.DataFrame = evaluate_table(recs.to_pandas(), relevant.to_pandas(), "mrr", chunks=2)
of_file: pl.LazyFrame = evaluate_table(recs, relevant, "mrr", per_user="per_user.parquet")
recs.write_csv("recs.csv")
evaluate_table("recs.csv", recs, "coverage@1", catalogue=Path("recs.csv"))
evaluate_table(recs, recs, "novelty(unseen=skip)@1", popularity={"a": [1, 2]})
evaluate_table(recs, recs, "recall(of=all)@1", strata={"all": "recs.csv"})
analysis = RecListAnalysis()
analysis.add_metric("ndcg@10")
of_lists: pl.DataFrame = analysis.compute(recs, relevant)
"""
# Each line that is wrong, and the error of mypy.
WRONG = {
    'Metrics.ndcg_at_k(scores, lists, gain="exp3")': "[arg-type]",
    "Metrics.ndcg_at_k(scores, lists, gian=1)": "[call-arg]",
    'Metrics.ndcg_at_k(scores, lists, undefined="none")': "[arg-type]",
    'Metrics.ndcg_at_k(scores, lists, k="10")': "[arg-type]",
    "Metrics.ndgc_at_k(scores, lists)": "[attr-defined]",
    "Metrics.auc(scores, lists, k=0.5)": "[arg-type]",
    'Metrics.compute(scores, lists, ["ndcg@10"], undefined="none")': "[arg-type]",
    "Metrics.compute(scores, lists, ['ndcg@10'], n_threads='2')": "[arg-type]",
    "Metrics.compute(scores, lists, 10)": "[arg-type]",
    "Metrics.compute(scores, lists, 'ndcg', convention='RANX')": "[arg-type]",
    "recmetrics.explain('ndcg@10', convention='RANX')": "[arg-type]",
    "Metrics.compute_ranked(scores, lists, ['ndcg'], exclude=lists)": "[call-arg]",
    'Metrics.novelty_at_k(scores, lists, unseen="none")': "[arg-type]",
    "Metrics.novelty_at_k(scores, lists, popularity=5)": "[arg-type]",
    'recmetrics.compare({"a": values}, tests="z")': "[arg-type]",
    'comparison.to_frame(backend="panda")': "[call-overload]",
    'comparison.to_frame(backend="polars").iloc': "[attr-defined]",
    'found.to_frame(backend="polars").iloc': "[attr-defined]",
    "recmetrics.dask.compute(scores, lists, 'mrr')['mrr'].persist()": "[attr-defined]",
    'Metrics.evaluate(scores, lists, "mrr").summary(level=0.9)': "[call-arg]",
    'recmetrics.summary(values, confidence="95 %")': "[arg-type]",
    "recmetrics.summary(values, weight=[1, 2])": "[call-arg]",
    'recmetrics.compare({"a": values}, correction="bonferroni")': "[arg-type]",
    'Metrics.compute_factors(scores, scores, lists, "mrr", exlude=lists)': "[call-arg]",
    'Metrics.compute_factors(scores, scores, lists, "mrr", ties="bset")': "[arg-type]",
    'Metrics.compute_ranked(lists, lists, "mrr", ties="best")': "[call-arg]",
    'Metrics.ranks(scores, lists, ties="range")': "[arg-type]",
    'Metrics.chance(lists, "hit@1", n_threads=2)': "[call-arg]",
    'Metrics.hit_at_k(scores, lists, convention="rancks")': "[arg-type]",
    'recmetrics.overlap(scores, scores, "rbo", ties="best")': "[call-arg]",
    'recmetrics.overlap(scores, (scores, scores, 1), "rbo")': "[arg-type]",
    "recmetrics.overlap_ranked(lists, lists, 10)": "[arg-type]",
    'recmetrics.Evaluator(lists, "hit@1", progress=True)': "[call-arg]",
    'recmetrics.Evaluator(lists, "hit@1", undefined="none")': "[arg-type]",
    "evaluator.update(scores, np.zeros(2))": "[arg-type]",
    'evaluator.update(scores, ["1", "0"])': "[list-item]",
    "evaluator.update(scores, 1)": "[arg-type]",
    "RankingMetrics(lists, 'hit@1').update(torch.zeros(2, 3), None)": "[arg-type]",
    'Metrics.compute_ranked([0, 1], lists, "hit@1")': "[list-item]",
    'Metrics.compute_ranked([{0}, {1}], lists, "hit@1")': "[list-item]",
    "evaluator.update(scores, {1, 0})": "[arg-type]",
    "evaluator.update_factors(scores, scores, users=(0.5, 1.5))": "[arg-type]",
    'evaluator.update_ranked(lists, "10")': "[arg-type]",
    'evaluate_table([["a", 1]], relevant, "mrr")': "[call-overload]",
    'evaluate_table(recs, relevant, "mrr", by=1)': "[call-overload]",
    'evaluate_table(recs, relevant, "mrr", popularity=[0.5])': "[call-overload]",
    'evaluate_table(recs, relevant, "mrr", summary=True)': "[call-overload]",
    'evaluate_table(recs, relevant, "mrr").means': "[attr-defined]",
    'evaluate_table(recs, relevant, "mrr", return_summary=True).columns': "[attr-defined]",
    "analysis.compute(recs, 5)": "[type-var]",
}
# Names that pyright has for the same errors.
PYRIGHT = {
    "[arg-type]": "reportArgumentType",
    "[call-arg]": "reportCallIssue",
    "[attr-defined]": "reportAttributeAccessIssue",
    "[list-item]": "reportArgumentType",
    "[call-overload]": "reportArgumentType",
    "[type-var]": "reportArgumentType",
}
UNKNOWN_KEYWORD = 'evaluate_table(recs, relevant, "mrr", summary=True)'  # reportCallIssue


def test_evaluate_table_shows_its_keywords_and_takes_no_other():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    module = importlib.import_module("recmetrics.tables._evaluate")
    own = keywords(module.evaluate_table)
    assert set(own) == {*module.TableOptions.__annotations__, "return_summary"}
    assert (own["user"], own["unknown"], own["include_missing"]) == ("user", "raise", None)
    with pytest.raises(TypeError, match=r"evaluate_table\(\) got an unexpected .* 'rating'"):
        module.evaluate_table(None, None, "mrr", rating="stars")


def test_there_are_enough_lines():
    right = ast.parse(RIGHT).body
    assert sum(not isinstance(each, ast.Import | ast.ImportFrom) for each in right) >= 40
    assert len(WRONG) >= 25


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch itself
def test_the_right_lines_run(monkeypatch, tmp_path):
    for package in ("narwhals", "pandas", "polars", "pyarrow", "torch", "torchmetrics"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.setattr(jit._Work, "total", 0.0)  # some calls count their work
    monkeypatch.chdir(tmp_path)  # some write files
    with in_python():  # compiling takes longer than the lines
        exec(compile(RIGHT, "right", "exec"), {"__name__": "right"})


PATH = "" if ROOT.name == "site-packages" else str(ROOT)


def checked(folder, *command):
    """Right and wrong lines, and what a type checker says of them."""
    lines = [*RIGHT.splitlines(), *WRONG]
    (folder / "snippet.py").write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | ({"MYPYPATH": PATH} if PATH else {}),
    )
    return lines, done.stdout


# Of torch only what a tensor is: mypy takes as long for the rest of it as for all else.
MYPY = """
[mypy]
[mypy-torch.*,torchmetrics.*]
follow_imports = skip
[mypy-torch,torch._C.*,torch._tensor]
follow_imports = silent
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_knows_methods_and_options(tmp_path):
    (tmp_path / "mypy.ini").write_text(MYPY)
    how = ["--strict", "--no-error-summary", "--show-error-codes", "--config-file", "mypy.ini"]
    how += ["--follow-imports", "silent", "--ignore-missing-imports", "--cache-dir", "cache"]
    lines, found = checked(tmp_path, "mypy", *how, "snippet.py")
    errors = {}
    for line in found.splitlines():
        _, number, kind, text = line.split(":", 3)
        if kind.strip() == "error":
            errors[lines[int(number) - 1]] = text.rsplit(" ", 1)[-1]
    assert errors == WRONG


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_knows_methods_and_options(tmp_path):
    settings = {
        "include": ["snippet.py"],
        "extraPaths": [PATH],
        "pythonVersion": "3.11",
        "reportMissingImports": False,
        "reportMissingModuleSource": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["pyright", "--outputjson", "--pythonpath", sys.executable, "--project", "."]
    lines, found = checked(tmp_path, *command)
    errors = {
        lines[each["range"]["start"]["line"]]: each["rule"]
        for each in json.loads(found)["generalDiagnostics"]
    }
    expected = {line: PYRIGHT[code] for line, code in WRONG.items()}
    assert errors == expected | {UNKNOWN_KEYWORD: "reportCallIssue"}
