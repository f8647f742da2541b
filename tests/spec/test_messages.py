"""Messages at the places where people go wrong: each says what to type, and that works."""

import inspect
import re

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import message_of
from inside import parse

import recmetrics
from recmetrics import (
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    MetricSpecError,
    RecmetricsError,
    RecmetricsWarning,
    ShapeError,
)
from recmetrics._core import errors

SCORES = np.arange(12.0).reshape(2, 6)
TRUTH = sp.csr_array(np.eye(2, 6))
USERS, ITEMS = np.ones((2, 3)), np.arange(18.0).reshape(6, 3)


@pytest.mark.parametrize("form", [TRUTH, TRUTH.toarray(), TRUTH.toarray().tolist()], ids=type)
def test_update_takes_no_truth(form):
    evaluator = Evaluator(TRUTH, "hit@1")
    got = message_of(InputTypeError, lambda: evaluator.update(SCORES, form))
    assert got == (
        f"users is a {type(form).__name__} of shape (2, 6), expected user indices; "
        "Evaluator.update takes (scores, users), since Evaluator has the truth; "
        "StreamEvaluator.update takes (scores, truth)"
    )
    evaluator.update(SCORES, [0, 1])


@pytest.mark.parametrize("form", [TRUTH, TRUTH.toarray()], ids=["sparse", "dense"])
def test_popularity_is_no_training_matrix(form):
    def novelty(popularity):
        return Metrics.novelty_at_k(SCORES, TRUTH, k=2, popularity=popularity)

    assert message_of(ShapeError, lambda: novelty(form)) == (
        "popularity must be 1-d (n_items,), got shape (2, 6); for a training matrix type "
        "popularity=recmetrics.popularity_from(train)"
    )
    novelty(recmetrics.popularity_from(form))


def test_swapped_factors():
    got = message_of(ShapeError, lambda: Metrics.compute_factors(ITEMS, USERS, TRUTH, "hit@1"))
    assert got == (
        "truth must have the users and items of the scores, (6, 2), got (2, 6); user_factors and "
        "item_factors look swapped: give those of the users first"
    )
    narrow = TRUTH.toarray()[:, 1:] > 0
    got = message_of(ShapeError, lambda: Metrics.compute_factors(USERS, ITEMS, narrow, "hit@1"))
    assert got == "truth must have the users and items of the scores, (2, 6), got (2, 5)"
    Metrics.compute_factors(USERS, ITEMS, TRUTH, "hit@1")


def test_items_of_each_user_in_a_matrix():
    sampled = np.array([[0, 1, 3], [2, 4, 5]])
    got = message_of(
        ShapeError, lambda: Metrics.compute(SCORES, TRUTH, "hit@1", candidates=sampled)
    )
    assert got == (
        "candidates must have the users and items of the truth, (2, 6), got (2, 3); for item "
        "indices of each user type list(candidates)"
    )
    Metrics.compute(SCORES, TRUTH, "hit@1", candidates=list(sampled))


OF_TABLES = "for tables of ids type recmetrics.tables.evaluate_table(recs, truth, metrics_list)"


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("ids", [["a", "b"], [1, 2]], ids=["text", "integers"])
def test_a_table_of_ids_in_the_place_of_an_array(library, ids):
    """The advice is followed with the same tables."""
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    table = frames.DataFrame({"user": ids, "item": ids})
    for name in ("pred_scores", "ground_truth", "exclude", "candidates"):
        given = {"pred_scores": SCORES, "ground_truth": TRUTH} | {name: table}
        what = name.rpartition("_")[2]
        if name == "pred_scores" and ids == [1, 2]:
            continue  # numbers may be scores
        advice = OF_TABLES
        if ids == [1, 2]:
            advice += f", or np.asarray({what}) if it is a matrix"
        with pytest.raises((InputTypeError, ShapeError), match=f"^{what} .*; {re.escape(advice)}$"):
            Metrics.compute(metrics_list="hit@1", **given)
    Metrics.compute(frames.DataFrame(SCORES), TRUTH, "hit@1")
    from recmetrics.tables import evaluate_table

    assert len(evaluate_table(table, table, "hit@1")) == 2


def test_logits_of_sequences():
    logits, target = np.arange(24.0).reshape(2, 3, 4) % 7, np.array([[1, 2, 0], [3, -1, 2]])
    assert message_of(ShapeError, lambda: Metrics.compute(logits, target, "mrr@2")) == (
        "scores must be 2-d (n_users, n_items), got 3-d of shape (2, 3, 4); for the last position "
        "of each sequence type scores[:, -1], for every one scores.reshape(-1, 4) with "
        "target.reshape(-1)"
    )
    last = Metrics.compute(logits[:, -1], target[:, -1], "mrr@2")["mrr@2"]
    each = Metrics.compute(logits.reshape(-1, 4), target.reshape(-1), "mrr@2")["mrr@2"]
    np.testing.assert_array_equal(each[2::3], last)


def test_indices_as_a_float_tensor():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    users, items = torch.tensor([1.0, 0.0]), torch.tensor([2.0, 3.0])
    evaluator = Evaluator(TRUTH, "hit@1")
    got = message_of(InputTypeError, lambda: evaluator.update(SCORES, users))
    assert got.endswith("; type np.asarray(users, np.int64) if these are indices")
    evaluator.update(SCORES, np.asarray(users, np.int64))
    got = message_of(InputTypeError, lambda: Metrics.compute(SCORES, items, "hit@1"))
    assert "; type np.asarray(truth, int), or" in got
    Metrics.compute(SCORES, np.asarray(items, int), "hit@1")
    got = message_of(
        InputTypeError, lambda: Metrics.compute(SCORES, TRUTH, "hit@1", candidates=items)
    )
    assert got.endswith("; type np.asarray(candidates, np.int64) if these are indices")
    Metrics.compute(SCORES, TRUTH, "hit@1", candidates=np.asarray(items, np.int64))
    ranking = [items, items]
    got = message_of(InputTypeError, lambda: Metrics.compute_ranked(ranking, TRUTH, "hit@1"))
    assert got.endswith(
        "; type [np.asarray(items, np.int64) for items in ranking] if these are indices"
    )
    ranking = [np.asarray(items, np.int64) for items in ranking]
    Metrics.compute_ranked(ranking, TRUTH, "hit@1")


def test_metrics_in_the_place_of_the_truth():
    got = message_of(MetricSpecError, lambda: Evaluator(["ndcg@10"], TRUTH))
    assert got == (
        "metrics_list is a csr_array of shape (2, 6), expected metric strings such as ['ndcg@10', "
        "'recall@20']; the truth comes before the metrics"
    )
    Evaluator(TRUTH, ["ndcg@10"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("precision_at_10", "precision@10"),
        ("ndcg_at_10", "ndcg@10"),
        ("hr_at_5", "hr@5"),
        ("ndcg10", "ndcg@10"),
        ("MRR_20", "mrr@20"),
        ("ndcg-10", "ndcg@10"),
    ],
)
def test_a_cutoff_in_the_name(typed, meant):
    with pytest.raises(MetricSpecError) as caught:
        Metrics.compute(SCORES, TRUTH, typed)
    what = f"in metric {typed!r}: unknown metric {typed.lower()!r}"
    what = f"cannot read metric {typed!r}" if "-" in typed else what
    assert str(caught.value) == f"{what}; did you mean {meant!r}?"
    Metrics.compute(SCORES, TRUTH, meant)


@pytest.mark.parametrize(
    ("typed", "metric", "convention", "system"),
    [
        ("ndcg_cut_10", "ndcg@10", "trec", "trec_eval"),
        ("P_10", "precision@10", "trec", "trec_eval"),
        ("ndcg_burges@10", "ndcg(gain=exp2)@10", "ranx", "ranx"),
        ("r-precision", "r_precision", "ranx", "ranx"),
        ("rbp.95", "rbp(p=0.95)", "ranx", "ranx"),
        ("hits@10", "cg@10", "ranx", "ranx"),
    ],
)
def test_names_of_other_systems(typed, metric, convention, system):
    with pytest.raises(MetricSpecError) as caught:
        Metrics.compute(SCORES, TRUTH, typed)
    hint = f"did you mean {metric!r} with convention={convention!r}, which is {typed} of {system}?"
    assert str(caught.value).endswith(f"{typed!r}; {hint}")
    by_own_name = Metrics.compute(SCORES, TRUTH, typed, convention=convention)[typed]
    by_metric = Metrics.compute(SCORES, TRUTH, metric, convention=convention)[metric]
    assert by_own_name.tolist() == by_metric.tolist()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ({"ndcg": 10}, ["ndcg@10"]),
        ({"ndcg": 10, "recall": [10, 20]}, ["ndcg@10", "recall@10", "recall@20"]),
    ],
)
def test_metrics_in_a_dict(typed, meant):
    got = message_of(MetricSpecError, lambda: Metrics.compute(SCORES, TRUTH, typed))
    assert got == f"metrics_list is a dict, expected a list of metric strings; type {meant}"
    Metrics.compute(SCORES, TRUTH, meant)


def test_a_dict_of_metrics_without_a_cutoff_is_read_as_its_keys():
    assert list(Metrics.compute(SCORES, TRUTH, {"mrr": [], "hit@1": "first"})) == ["mrr", "hit@1"]
    assert list(Metrics.compute(SCORES, TRUTH, {"hit@1": 5})) == ["hit@1"]
    assert list(Metrics.compute(SCORES, TRUTH, {"mrr": []})) == ["mrr"]


@pytest.mark.parametrize("typed", ["ndcg@10,recall@20", "ndcg@10, recall@20", "ndcg@10 recall@20"])
def test_several_metrics_in_one_string(typed):
    assert message_of(MetricSpecError, lambda: Metrics.compute(SCORES, TRUTH, typed)) == (
        f"cannot read metric {typed!r}; one string is one metric: type ['ndcg@10', 'recall@20']"
    )
    Metrics.compute(SCORES, TRUTH, ["ndcg@10", "recall@20"])


def test_a_metric_without_a_cutoff_before_one_with():
    message = message_of(MetricSpecError, lambda: Metrics.compute(SCORES, TRUTH, "mrr,ndcg@2"))
    assert message.endswith("; one string is one metric: type ['mrr', 'ndcg@2']")


@pytest.mark.parametrize("metrics", ["ndcg", "ndcg@5", ["ndcg", "mrr"]])
def test_a_cutoff_as_a_keyword(metrics):
    calls = {
        "Metrics.compute": lambda **k: Metrics.compute(SCORES, TRUTH, metrics, **k),
        "Metrics.compute_ranked": lambda **k: Metrics.compute_ranked(
            [[1], [0]], TRUTH, metrics_list=metrics, **k
        ),
        "Evaluator.__init__": lambda **k: Evaluator(TRUTH, metrics, **k),
        "StreamEvaluator.__init__": lambda **k: recmetrics.StreamEvaluator(metrics, **k),
    }
    for name, call in calls.items():
        assert message_of(TypeError, lambda call=call: call(k=10)) == (
            f"{name}() got an unexpected keyword argument 'k'; a metric string has its own "
            "cutoff: type 'ndcg@10'"
        )
        call()
    Metrics.compute(SCORES, TRUTH, "ndcg@10")


@pytest.mark.parametrize("metrics", [(), ([],), ([parse("mrr@3")],)])
def test_a_cutoff_as_a_keyword_beside_no_metric_string(metrics):
    message = message_of(TypeError, lambda: Metrics.compute(SCORES, TRUTH, *metrics, k=5))
    assert message.endswith("a metric string has its own cutoff: type 'ndcg@5'")


# --- Tables --------------------------------------------------------------------------------------


def test_a_column_of_another_name():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    from recmetrics.tables import evaluate_table

    truth = pandas.DataFrame({"user_id": [1], "movieId": [2]})
    recs = truth.assign(prediction=1.0)
    got = message_of(InputError, lambda: evaluate_table(recs, truth, "hit@1"))
    assert got == (
        "recs has no column 'user'; it has 'user_id', 'movieId', 'prediction'; type user='user_id' "
        "if all tables have it, else rename it to 'user'"
    )
    got = message_of(InputError, lambda: evaluate_table(recs, truth, "hit@1", user="user_id"))
    assert "; type item='movieId' if all tables have it" in got
    evaluate_table(recs, truth, "hit@1", user="user_id", item="movieId", score="prediction")


def test_a_column_that_names_the_model():
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    long = pandas.DataFrame(
        {
            "model": ["a"] * 3 + ["b"] * 3,
            "user": ["u1", "u2", "u3"] * 2,
            "hit@1": [0.0, 1.0, 0.5, 1.0, 1.0, 0.5],
        }
    )
    parts = {name: part for name, part in long.groupby("model")}  # noqa: C416
    assert recmetrics.compare(parts, rng=0).differences[0].wins == 1
    assert str(recmetrics.compare(parts, rng=0)) == str(recmetrics.compare(long, rng=0))


def test_a_sparse_tensor_with_dense_rows_becomes_dense_where_told():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    truth = torch.tensor(TRUTH.toarray()).to_sparse(1)
    got = message_of(InputTypeError, lambda: Metrics.compute(SCORES, truth, ["hit@1"]))
    assert got.endswith("; type truth.to_dense()")
    Metrics.compute(SCORES, truth.to_dense(), ["hit@1"])


# --- The tree ------------------------------------------------------------------------------------

CLASSES = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
KINDS = [kind for kind in CLASSES if issubclass(kind, Exception)]
ERRORS = [kind for kind in KINDS if kind is not RecmetricsWarning]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_public_and_of_a_builtin_kind(kind):
    assert getattr(recmetrics, kind.__name__) is kind
    assert issubclass(kind, RecmetricsError)
    assert kind is RecmetricsError or issubclass(kind, ValueError | TypeError | RuntimeError)
