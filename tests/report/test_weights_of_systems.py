"""The weight of a user in the mean of a system: a field of its line, which every mean follows."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import message_of
from commands import require_tables

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    Metrics,
    ShapeError,
    StreamEvaluator,
    UnknownMetricError,
)
from recmetrics._report import ValueReader
from recmetrics.cli import main

# implicit 0.7.3 prints a precision of 0.5 for K = 3: hits at 1 of min(3, 1) and 1 of min(3, 3).
SCORES = [[9, 8, 7, 1, 0.5], [1, 9, 8, 7, 6]]
TRUTH = [[1, 0, 0, 0, 0], [1, 1, 0, 0, 1]]
POOLED = (1 + 1) / (1 + 3)
PLAIN = (1 / 1 + 1 / 3) / 2
# The items 1, 2 and 3, none of user 0, and 0, 1 and 4, all of user 1.
OTHER_SCORES = [[1, 9, 8, 7, 0.5], [9, 8, 1, 1.5, 7]]
OTHER_POOLED = (0 + 3) / (1 + 3)
MODELS = """\
model,user,recall@3,recall@3[weight]
a,7,1.0,1.0
a,8,0.25,4.0
a,9,,0.0
b,9,,0.0
b,8,1.0,4.0
b,7,0.0,1.0
"""
MEANS_OF_MODELS = [(1 * 1 + 4 / 4) / 5, 4 / 5]


def test_evaluate_and_an_evaluator_weigh_users_as_the_system():
    evaluation = Metrics.evaluate(SCORES, TRUTH, ["recall@3", "map@3"], convention="implicit")
    assert evaluation.values["recall@3"].tolist() == [1, pytest.approx(1 / 3)]
    assert evaluation.user_weights["recall@3"].tolist() == [1, 3]
    means = evaluation.summary().means
    assert means == {"recall@3": pytest.approx(POOLED), "map@3": pytest.approx((1 + 1 / 3) / 2)}
    assert "means of recall@3 weigh users as the system" in str(evaluation)
    evaluator = Evaluator(TRUTH, "recall@3", convention="implicit")
    evaluator.update(SCORES)
    assert evaluator.mean() == {"recall@3": pytest.approx(POOLED)}
    assert recmetrics.summary(evaluator).means == {"recall@3": pytest.approx(POOLED)}
    assert Metrics.evaluate(SCORES, TRUTH, "recall@3").summary().means == {
        "recall@3": pytest.approx(PLAIN)
    }


def test_weights_of_the_caller_multiply_those_of_the_system():
    evaluation = Metrics.evaluate(SCORES, TRUTH, "recall@3", convention="implicit")
    mean = (2 * 1 * 1 + 1 * 3 * 1 / 3) / (2 * 1 + 1 * 3)
    assert evaluation.summary(weights=[2, 1]).means["recall@3"] == pytest.approx(mean)
    evaluator = Evaluator(TRUTH, "recall@3", convention="implicit")
    evaluator.update(SCORES)
    assert evaluator.mean(weights=[2, 1])["recall@3"] == pytest.approx(mean)


def test_a_pair_of_evaluations_is_compared_with_the_weights():
    evaluation = Metrics.evaluate(SCORES, TRUTH, "recall@3", convention="implicit")
    comparison = recmetrics.compare({"a": evaluation, "b": evaluation})
    assert comparison.means[0].mean == pytest.approx(POOLED)
    assert "weigh users as the system" in str(comparison)
    assert comparison.to_dict()["weighed"] == ["recall@3"]
    plain = recmetrics.compare({"a": evaluation.values, "b": evaluation.values})
    assert plain.means[0].mean == pytest.approx(PLAIN)
    assert plain.to_dict()["weighed"] == []
    assert "weigh all users equally" not in str(plain)


def test_a_gate_says_that_its_difference_is_weighted():
    """The plain mean difference would be (-1 + 2/3) / 2; the first user has 1 of 4 weights."""
    options = {"convention": "implicit"}
    old, new = (
        Metrics.evaluate(scores, TRUTH, ["recall@3", "map@3"], **options)
        for scores in (SCORES, OTHER_SCORES)
    )
    comparison = recmetrics.compare({"old": old, "new": new}, baseline="old")
    gate = comparison.gate(["recall@3 >= -0.1", "map@3 >= -0.1"])
    assert gate.verdicts[0].difference == pytest.approx((1 * -1 + 3 * 2 / 3) / 4)
    document = gate.to_dict()
    assert (document["weighted"], document["weighed"]) == (True, ["recall@3"])
    assert "Student's t of the weighted mean difference (linearised variance)" in str(gate)
    assert "means of recall@3 weigh users as the system of the convention does" in str(gate)
    plain = comparison.gate("map@3 >= -0.1")
    assert (plain.weighted, plain.weighed) == (False, ())
    assert "Student's t of the paired differences" in str(plain)
    of_caller = recmetrics.compare({"old": old.values, "new": new.values}, weights=[1, 3])
    weighted = of_caller.gate("recall@3 >= -0.1")
    assert weighted.verdicts[0].difference == pytest.approx(gate.verdicts[0].difference)
    assert (weighted.weighted, weighted.weighed) == (True, ())


def test_weights_that_one_of_two_results_lacks_are_said_to_be_left_out():
    evaluation = Metrics.evaluate(SCORES, TRUTH, ["recall@3", "map@3"], convention="implicit")
    other_weights = evaluation.values | {"recall@3[weight]": [1.0, 5.0]}
    for other in (evaluation.values, other_weights):
        comparison = recmetrics.compare({"a": evaluation, "b": other})
        assert comparison.means[0].mean == pytest.approx(PLAIN)
        assert "means of recall@3 weigh all users equally" in str(comparison)
        assert comparison.to_dict()["weighed"] == []


def test_users_who_weigh_nothing_get_no_advice_on_their_value():
    """A user without relevant items weighs 0 in implicit's recall, whether 0 or left out."""
    scores, truth = [*SCORES, [1, 2, 3, 4, 5]], [*TRUTH, [0] * 5]
    both = ["recall@3", "ndcg@3"]
    advice = "to count users without a value as 0, give undefined='zero'"
    weighed = Metrics.evaluate(scores, truth, "recall@3", convention="implicit")
    assert weighed.notes == ()
    assert advice in Metrics.evaluate(scores, truth, both, convention="implicit").notes
    counted = "1 of 3 users has no relevant item and counts as 0"
    given = {"convention": "implicit", "undefined": "zero"}
    for metrics, notes in {"recall@3": (), "ndcg@3": (counted,)}.items():
        evaluation = Metrics.evaluate(scores, truth, metrics, **given)
        assert evaluation.notes == notes
    assert Metrics.evaluate(scores, truth, both, **given).notes == (f"{counted} in ndcg@3",)


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_files_of_values_have_the_weights(suffix, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sp.save_npz("truth.npz", sp.csr_array(np.array(TRUTH)))
    for name, scores in (("old", SCORES), ("new", OTHER_SCORES)):
        np.save(f"{name}.npy", scores)
        options = ["-m", "recall@3", "map@3", "--convention", "implicit"]
        main(["evaluate", f"{name}.npy", "truth.npz", *options, "--per-user", f"{name}.{suffix}"])
    capsys.readouterr()
    files = [f"{name}.{suffix}" for name in ("old", "new")]
    assert main(["compare", *files, "--gate", "recall@3 > 0", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["weighed"] == ["recall@3"]
    means = [mean["mean"] for mean in document["means"] if mean["metric"] == "recall@3"]
    assert means == pytest.approx([POOLED, OTHER_POOLED])
    assert document["differences"][0]["difference"] == pytest.approx(OTHER_POOLED - POOLED)
    summary = recmetrics.summary(files[0])
    assert summary.means["recall@3"] == pytest.approx(POOLED)
    assert "means of recall@3 weigh users as the system" in str(summary)
    assert list(summary.means) == ["recall@3", "map@3"]
    if suffix == "csv":
        lines = (tmp_path / "new.csv").read_text().splitlines()
        assert lines == ["user,recall@3,map@3,recall@3[weight]", "0,0.0,0.0,1.0", "1,1.0,1.0,3.0"]
        return
    arrays = {name: dict(np.load(f"{name}.npz")) for name in ("old", "new")}
    means = recmetrics.compare(arrays, metrics="recall@3").means
    assert [mean.mean for mean in means] == pytest.approx([POOLED, OTHER_POOLED])


def test_weights_follow_the_ids_of_the_users(tmp_path, monkeypatch, capsys):
    require_tables()
    monkeypatch.chdir(tmp_path)
    header, *lines = MODELS.splitlines()
    for model in "ab":
        of_model = [line for line in (header, *lines) if line.startswith((model, "model"))]
        (tmp_path / f"{model}.csv").write_text("\n".join(x.partition(",")[2] for x in of_model))
    (tmp_path / "models.csv").write_text(MODELS)
    for words in (["a.csv", "b.csv"], ["models.csv", "--model", "model"]):
        main(["compare", *words, "--json"])
        document = json.loads(capsys.readouterr().out)
        assert [mean["mean"] for mean in document["means"]] == pytest.approx(MEANS_OF_MODELS)
        assert [mean["n_undefined"] for mean in document["means"]] == [1, 1]
        assert document["weighed"] == ["recall@3"]


def test_a_frame_of_values_has_the_weights(tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / "models.csv"
    path.write_text(MODELS)
    frame = pl.read_csv(path)
    frames = {name: frame.filter(model=name).drop("model") for name in "ab"}
    frames["b"] = frames["b"].filter(pl.col("user") != 9)  # a user without a value
    for results in (frame, frame.to_pandas(), frames):
        means = recmetrics.compare(results).means
        assert [mean.mean for mean in means] == pytest.approx(MEANS_OF_MODELS)
    assert [mean.mean for mean in recmetrics.summary(frame)] == pytest.approx(MEANS_OF_MODELS)
    folds = [frames["b"][:1], frames["b"][1:]]
    means = recmetrics.compare({"a": frames["a"].head(2), "b": folds}).means
    assert [mean.mean for mean in means] == pytest.approx(MEANS_OF_MODELS)


def test_a_file_without_weights_is_said_to_lack_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("old.npz", **{"recall@3": [1, 1 / 3]})
    np.savez("new.npz", **{"recall@3": [0.0, 1.0], "recall@3[weight]": [1.0, 3.0]})
    main(["compare", "old.npz", "new.npz"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "means of recall@3 weigh all users equally" in printed
    assert "written by 'recmetrics evaluate --per-user'" in printed
    means = recmetrics.compare({"a": dict(np.load("old.npz")), "b": dict(np.load("new.npz"))}).means
    assert [mean.mean for mean in means] == pytest.approx([PLAIN, 1 / 2])


@pytest.mark.parametrize(
    ("error", "weights", "fault"),
    [
        (ShapeError, [1.0], "have shape (1,); expected (2,), as its values"),
        (InputError, [1.0, -1.0], "hold -1.0 in row 1; expected finite numbers >= 0"),
        (InputError, [np.nan, 1.0], "hold nan in row 0; expected finite numbers >= 0"),
    ],
)
def test_wrong_weights_are_refused(error, weights, fault):
    values = {"recall@3": np.array([1, 1 / 3]), "recall@3[weight]": np.array(weights)}
    message = message_of(error, recmetrics.summary, values)
    assert message == f"the weights of metric 'recall@3' of values {fault}"


def test_a_user_without_a_value_may_lack_a_weight():
    """As an empty cell of a file has it; the second of two users has 3 of the 4 weights."""
    values = {"recall@3": [1.0, 0.5, np.nan], "recall@3[weight]": [1.0, 3.0, np.nan]}
    assert recmetrics.summary(values).means == {"recall@3": (1 * 1.0 + 3 * 0.5) / 4}


def test_area_of_recbole_weighs_by_relevant_items():
    evaluation = Metrics.evaluate(
        [[9, 8, 7, 1]] * 2, [[1, 0, 0, 0], [0, 1, 0, 1]], "auc", convention="recbole"
    )
    assert evaluation.values["auc"].tolist() == [1, 1 / 4]  # of 3 pairs, and of 2 x 2
    assert evaluation.summary().means == {"auc": pytest.approx((1 * 1 + 2 / 4) / 3)}


def test_relevant_items_of_a_weight_are_those_of_the_metric():
    metrics = ["recall(rel=2)@2", "recall(of=tail)@2"]
    truth = [[2, 1, 1, 0, 0], [1, 2, 2, 0, 2]]
    evaluation = Metrics.evaluate(
        SCORES, truth, metrics, convention="implicit", strata={"tail": [1, 2, 4]}
    )
    assert evaluation.user_weights["recall(rel=2)@2"].tolist() == [1, min(2, 3)]
    assert evaluation.user_weights["recall(of=tail)@2"].tolist() == [2, min(2, 3)]


def test_a_table_and_its_summary_have_the_weights():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    from recmetrics.tables import evaluate_table

    cells = [(user, item) for user in range(2) for item in range(5)]
    recs = pd.DataFrame(cells, columns=["user", "item"])
    recs["score"] = np.ravel(SCORES)
    relevant = [cell for cell in cells if TRUTH[cell[0]][cell[1]]]
    truth = pd.DataFrame(relevant, columns=["user", "item"])
    _, summary = evaluate_table(recs, truth, "recall@3", convention="implicit", return_summary=True)
    assert summary.means == {"recall@3": pytest.approx(POOLED)}
    assert summary.user_weights["recall@3"].tolist() == [1, 3]
    assert "weigh lists as the system" in str(summary)


@pytest.mark.parametrize("chunks", [None, 2])
def test_a_table_of_values_has_columns_of_weights(chunks, tmp_path):
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from recmetrics.tables import evaluate_table

    rows = []
    for model, scores_of_model in (("old", SCORES), ("new", OTHER_SCORES)):
        for user, scores in enumerate(scores_of_model):
            rows += [(model, user, item, float(score)) for item, score in enumerate(scores)]
    recs = pl.DataFrame(rows, ["model", "user", "item", "score"], orient="row")
    relevant = [(user, item) for user in (1, 0) for item in range(5) if TRUTH[user][item]]
    truth = pl.DataFrame(relevant, ["user", "item"], orient="row")
    path = tmp_path / "values.parquet"
    options = {"chunks": chunks, "per_user": path} if chunks else {}
    values = evaluate_table(recs, truth, "recall@3", by="model", convention="implicit", **options)
    values = values.lazy().collect()
    weights = dict(values.filter(model="new").select("user", "recall@3[weight]").rows())
    assert weights == {0: 1, 1: 3}
    for results in [values, pl.read_parquet(path)] if chunks else [values, values.to_pandas()]:
        comparison = recmetrics.compare(results)
        assert comparison.to_dict()["weighed"] == ["recall@3"]
        means = {mean.model: mean.mean for mean in comparison.means}
        assert means == pytest.approx({"old": POOLED, "new": OTHER_POOLED})


def test_sums_of_spark_leave_the_weights_out():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    reader = ValueReader.of(None, None, None, None, is_paired=False)
    frame = pd.DataFrame({"user": [7, 8], "recall@3": [1, 1 / 3], "recall@3[weight]": [1.0, 3.0]})
    with pytest.warns(recmetrics.RecmetricsWarning, match="of recall@3 weigh all users equally"):
        assert reader.user_columns(frame[:0]) == ("user",)


def test_a_state_has_no_truth_to_weigh_by():
    evaluator = Evaluator(TRUTH, "recall@3", convention="implicit")
    evaluator.update(SCORES)
    copy = Evaluator.from_state(evaluator.state())
    assert "merge(this)" in message_of(ArgumentError, copy.mean)
    merged = Evaluator(TRUTH, "recall@3", convention="implicit").merge(copy)
    assert merged.mean() == {"recall@3": pytest.approx(POOLED)}
    plain = Evaluator(TRUTH, "recall@3")
    assert "different weights" in message_of(ArgumentError, plain.merge, copy)
    users = {"users": [0, 1], "n_users": 2}
    part = Evaluator(TRUTH, "recall@3", convention="implicit", **users)
    part.update(SCORES)
    advice = "to weigh them, give each part the truth of all users, without users= and n_users="
    assert message_of(ArgumentError, part.mean).endswith(advice)


def test_a_stream_says_that_its_mean_is_plain():
    stream = StreamEvaluator("recall@3", convention="implicit")
    stream.update(SCORES, TRUTH)
    with pytest.warns(recmetrics.RecmetricsWarning, match=r"weighs each user by min\(k, R\)"):
        assert stream.mean() == {"recall@3": pytest.approx(PLAIN)}


def test_explain_names_the_weight():
    explanation = recmetrics.explain("recall@3", convention="implicit")
    assert explanation.convention == "implicit: its mean weighs each user by min(k, R)"
    (call,) = [system for system in explanation.systems if system.startswith("implicit")]
    assert "the mean weighs each user by min(k, R)" in call


def test_a_name_that_a_system_has_for_another_metric_is_told():
    message = message_of(
        UnknownMetricError, Metrics.compute, SCORES, TRUTH, "precision@3", convention="implicit"
    )
    assert "what implicit calls precision_at_k is recall@k" in message
