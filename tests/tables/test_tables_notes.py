"""What a table's summary and the notes of an evaluation say of ranks, scores and grades."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from commands import evaluated
from tables_problems import EVERY_KIND, WHOLE_AND_IN_PARTS, make

pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics import Metrics, RecmetricsWarning
from recmetrics.tables import RecListAnalysis, evaluate_table

pd = pytest.importorskip("pandas", reason="pandas is not installed")

# By rank, the relevant item is second for user 1 and first for user 2; by score, it is first.
BOTH = {
    "user": [1, 1, 2, 2],
    "item": ["a", "b", "a", "b"],
    "rank": [1, 2, 1, 2],
    "score": [1.0, 2.0, 3.0, 2.0],
}
RELEVANT = {"user": [1, 2], "item": ["b", "a"]}
CONTRADICTED = (
    "the ranks contradict the column 'score' in 1 list, the first user=1: an item stands before "
    "one with a higher score; "
)
RATED = {"user": [1, 1, 2], "item": ["a", "b", "a"], "rating": [1.0, 5.0, 4.0]}
TO_IGNORE = "; to ignore the grades type 'ndcg(gain=binary)@2'"


def measured(recs, truth, metric, kind="pandas", **options):
    """The mean of a metric and the lines of the summary."""
    tables = make(kind, recs), make(kind, truth)
    _, summary = evaluate_table(*tables, metric, return_summary=True, **options)
    return summary.means[metric], str(summary).splitlines()


@EVERY_KIND
@pytest.mark.parametrize("convention", ["trec", "ranx"])
def test_these_systems_follow_the_score_and_not_the_rank(convention, kind):
    mean, lines = measured(BOTH, RELEVANT, "mrr", kind, convention=convention)
    assert mean == 1
    assert lines[0].endswith("ordered by score, descending")
    assert not any("contradict" in line for line in lines)
    mean, _ = measured(BOTH, RELEVANT, "mrr", kind, convention=convention, rank="rank")
    assert mean == (1 / 2 + 1) / 2
    by_rank = {name: column for name, column in BOTH.items() if name != "score"}
    assert measured(by_rank, RELEVANT, "mrr", kind, convention=convention)[0] == 3 / 4


def test_means_over_several_models_say_so():
    of_models = {name: [*column, *column] for name, column in BOTH.items()}
    of_models["model"] = ["x"] * 4 + ["y"] * 4
    note = (
        "these means are over all lists, of every 'model'; for a mean of each, type "
        "recmetrics.summary(values, model='model')"
    )
    assert measured(of_models, RELEVANT, "mrr", by="model")[1][-1] == note
    assert measured(of_models, RELEVANT, "mrr", by=np.array(["model"]))[1][-1] == note
    assert note not in measured(BOTH, RELEVANT, "mrr")[1]

    analysis = RecListAnalysis(group_cols=["user", "fold", "model"])
    analysis.add_metric("mrr")
    truth = pd.DataFrame(RELEVANT | {"fold": [1, 1]})
    recs = pd.DataFrame(of_models | {"fold": [1] * 8})
    analysis.compute(recs, truth, include_missing=True)
    assert str(analysis.summary).splitlines()[-1] == note  # the truth has folds

    arms = of_models | {"arm": of_models["model"], "fold": [1] * 8}
    last_line = measured(arms, RELEVANT, "mrr", by=["arm", "fold"])[1][-1]
    assert last_line.endswith("recmetrics.summary(values, model=['arm', 'fold'])")


def test_lists_that_models_lack_are_counted_and_the_first_is_named():
    """The model x has no list of the user 2, and y none of the user 1."""
    of_models = {**BOTH, "model": ["x", "x", "y", "y"]}
    lines = measured(of_models, RELEVANT, "mrr", by="model")[1]
    assert lines[1] == (
        "missing: 2 lists for users of the truth (the first: model='x', user=2); they are "
        "added as empty lists; include_missing=False leaves them out"
    )


# Users 1 and 2 are of the segment s, and 3 of t. Their relevant items have the ranks 2, 1 and 1.
IN_SEGMENTS = {
    "user": [1, 1, 2, 3],
    "item": ["a", "b", "a", "a"],
    "rank": [1, 2, 1, 1],
    "segment": ["s", "s", "s", "t"],
}
OF_THREE = {"user": [1, 2, 3], "item": ["b", "a", "a"]}
DIVIDES = (
    "the means are too low if 'segment' is a group of users, such as a segment or a fold: each "
    "user has an empty list in every other group; give the truth that column, too, or type "
    "include_missing=False (this also leaves out users without any list)"
)


@EVERY_KIND
@WHOLE_AND_IN_PARTS
def test_a_column_that_divides_the_users_is_told(kind, chunks):
    mean, lines = measured(IN_SEGMENTS, OF_THREE, "mrr", kind, by="segment", chunks=chunks)
    assert mean == (1 / 2 + 1 + 0 + 0 + 0 + 1) / 6
    assert lines[2] == DIVIDES
    options = {"by": "segment", "chunks": chunks, "include_missing": False}
    mean, lines = measured(IN_SEGMENTS, OF_THREE, "mrr", kind, **options)
    assert mean == (1 / 2 + 1 + 1) / 3
    assert DIVIDES not in lines
    tables = make(kind, IN_SEGMENTS), make(kind, OF_THREE)
    with pytest.warns(RecmetricsWarning) as warned:
        evaluate_table(*tables, "mrr", by="segment", chunks=chunks)
    assert [str(each.message) for each in warned] == [DIVIDES]


def test_no_list_at_all_has_no_models():
    recs = pd.DataFrame(IN_SEGMENTS)[:0].astype({"user": int})
    _, summary = evaluate_table(
        recs, pd.DataFrame(OF_THREE), "mrr", by="segment", return_summary=True
    )
    assert (summary.n_lists, summary.n_missing) == (0, 0)


def test_a_column_that_does_not_divide_the_users_is_not_told():
    of_both = {name: [*column, column[-1]] for name, column in IN_SEGMENTS.items()}
    of_both["segment"][-1] = "s"  # the list of user 3 is also of s
    assert DIVIDES not in measured(of_both, OF_THREE, "mrr", by="segment")[1]
    one = IN_SEGMENTS | {"segment": ["s"] * 4}
    assert DIVIDES not in measured(one, OF_THREE, "mrr", by="segment")[1]
    truth = OF_THREE | {"segment": [*"sst"]}
    assert DIVIDES not in measured(IN_SEGMENTS, truth, "mrr", by="segment")[1]
    elsewhere = {"user": [7], "item": ["a"]}  # who has no list
    with pytest.warns(RecmetricsWarning, match="no id of recs occurs here"):
        assert DIVIDES not in measured(IN_SEGMENTS, elsewhere, "mrr", by="segment")[1]
    models = {name: [*column, *column] for name, column in IN_SEGMENTS.items()}
    models["model"] = ["x"] * 4 + ["y"] * 4
    lines = measured(models, OF_THREE, "mrr", by=["model", "segment"])[1]
    assert [line for line in lines if "too low" in line] == [DIVIDES]


@EVERY_KIND
def test_ranks_that_contradict_scores_are_told(kind):
    mean, lines = measured(BOTH, RELEVANT, "mrr", kind)
    assert mean == (1 / 2 + 1) / 2
    assert f"{CONTRADICTED}score='score' ranks them by score" in lines
    mean, lines = measured(BOTH, RELEVANT, "mrr", kind, score="score")
    assert mean == 1
    assert not any("contradict" in line for line in lines)


@pytest.mark.parametrize("score", [[2.0, 2.0, 3.0, 2.0], ["x", "y", "z", "w"], [2, None, 3, None]])
def test_scores_that_agree_with_the_ranks_or_are_none(score):
    _, lines = measured(BOTH | {"score": score}, RELEVANT, "mrr")
    assert not any("contradict" in line for line in lines)


def test_the_command_says_it_too(tmp_path, capsys):
    for name, columns in {"recs": BOTH, "truth": RELEVANT, "rated": RATED}.items():
        make("polars", columns).write_parquet(tmp_path / f"{name}.parquet")
    argv = [tmp_path / "recs.parquet", tmp_path / "truth.parquet", "-m", "mrr"]
    result = evaluated(capsys, *argv)
    assert result["of"]["mrr"]["mean"] == 3 / 4
    contradicted = CONTRADICTED.replace("user=1", "user='1'")  # the command reads ids as text
    assert f"{contradicted}--score score ranks them by score" in result["notes"]
    assert evaluated(capsys, *argv, "--score", "score")["of"]["mrr"]["mean"] == 1
    assert evaluated(capsys, *argv, "--convention", "trec")["of"]["mrr"]["mean"] == 1
    notes = evaluated(capsys, argv[0], tmp_path / "rated.parquet", "-m", "ndcg@2")["notes"]
    assert f"truth graded by 'rating', 1 to 5; every row is relevant{TO_IGNORE}" in notes


def test_a_column_of_grades_is_told_where_a_metric_reads_them():
    by_grade, lines = measured(BOTH, RATED, "ndcg@2")
    assert f"truth graded by 'rating', 1 to 5; every row is relevant{TO_IGNORE}" in lines
    # User 1: 1 before 5; user 2 has all gain at rank 1. Without grades, both lists are ideal.
    discount = 1 / np.log2(3)
    assert by_grade == pytest.approx(((1 + 5 * discount) / (5 + discount) + 1) / 2)
    binary, lines = measured(BOTH, RATED, "ndcg(gain=binary)@2")
    assert binary == 1
    assert not any("graded" in line for line in lines)

    with_zero = RATED | {"rating": [0.0, 5.0, 4.0]}
    _, lines = measured(BOTH, with_zero, "ndcg@2")
    assert f"truth graded by 'rating', 0 to 5; 2 of 3 rows are relevant{TO_IGNORE}" in lines
    for metric in ("mrr", "ndcg(rel=4)@2"):
        assert not any("graded" in line for line in measured(BOTH, RATED, metric)[1])
    ones = RATED | {"rating": [1.0, 1.0, 0.0]}
    assert not any("graded" in line for line in measured(BOTH, ones, "ndcg@2")[1])


def test_repeated_events_of_a_sparse_truth_are_told():
    # The event (0, 1) is stored twice.
    truth = sp.coo_array((np.ones(3), ([0, 0, 0], [0, 1, 1])), shape=(1, 3))
    scores = [[3.0, 2.0, 1.0]]
    for form in (truth, truth.tocsr()):
        evaluation = Metrics.evaluate(scores, form, ["mrr", "ndcg@2"])
        assert evaluation.values["ndcg@2"][0] == pytest.approx(0.8597, abs=1e-4)
        assert evaluation.notes == (
            "truth graded, 1 to 2; 1 of 2 relevant entries exceed 1; if these are no grades, "
            f"SciPy may have summed repeated entries{TO_IGNORE}",
        )
        assert Metrics.compute(scores, form, "ndcg(gain=binary)@2")["ndcg(gain=binary)@2"] == 1
        assert Metrics.evaluate(scores, form, ["mrr", "recall@2"]).notes == ()
    assert Metrics.evaluate(scores, [[1, 2, 0]], ["err@2"]).notes == (
        "truth graded, 1 to 2; 1 of 2 relevant entries exceed 1",
    )
    assert Metrics.evaluate(scores, [[1, 1, 0]], ["ndcg@2", "err@2"]).notes == ()


def test_an_impression_log_is_one_of_groups():
    log = {"user": [1, 1, 2, 2], "item": ["a", "b", "a", "b"], "score": [1.0, 2.0, 3.0, 2.0]}
    clicked = [0, 1, 0, 1]
    for options in ({}, {"catalogue": make("pandas", {"item": ["a", "b", "c"]})}):
        with pytest.raises(ValueError, match=r"shown, with their labels, type (\S+)\(") as caught:
            measured(log, RELEVANT, "auc", **options)
        assert "Metrics.compute_groups(scores, labels, ['auc'], ids=users)" in str(caught.value)
    got = Metrics.compute_groups(log["score"], clicked, ["auc"], ids=log["user"])["auc"]
    assert got.tolist() == [1, 0]


@EVERY_KIND
@pytest.mark.parametrize(
    ("name", "numbers", "metric", "is_told"),
    [
        ("grade", [3, 1], "ndcg@2", True),
        ("grade", [3, 1], "recall@2", False),  # which reads no grades
        ("label", [1, 0], "recall@2", True),
        ("label", [1, 1], "ndcg@2", False),
        ("score", [2.5, 0.5], "ndcg@2", True),
        ("time", [2, 0], "ndcg@2", False),
        ("label", ["x", "y"], "ndcg@2", False),
        ("label", [True, False], "recall@2", True),
        ("Relevance", [1, 0], "recall@2", True),
        ("RATING", [3, 1], "ndcg@2", True),
        ("Label", [1, 0], "recall@2", True),
        ("rel", [2, 0], "recall@2", True),
        ("r_ui", [5.0, 0.0], "recall@2", True),
        ("is_relevant", [False, True], "recall@2", True),
        ("clicked", [1, 0], "recall@2", True),
        ("target", [0, 1], "recall@2", True),
        ("price", [0.0, 9.5], "ndcg@2", False),
        ("views", [0, 3], "ndcg@2", False),
        ("Timestamp", [0, 3], "ndcg@2", False),
        ("gain", [1.0, None], "ndcg@2", False),
        ("gain", [1.0, -1.0], "ndcg@2", False),
        ("gain", [1.0, 1.0], "ndcg@2", False),
    ],
)
def test_a_column_of_grades_that_is_not_read_is_told(kind, name, numbers, metric, is_told):
    recs = make(kind, {"user": [1, 1], "item": ["a", "b"], "rank": [1, 2]})
    truth = make(kind, {"user": [1, 1], "item": ["a", "b"], name: numbers})
    note = (
        f"the column {name!r} of truth is not read, so every row is relevant, all alike; to read "
        f"it as grades type relevance={name!r}"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate_table(recs, truth, metric)
        _, summary = evaluate_table(recs, truth, metric, return_summary=True)
    assert [str(each.message) for each in caught] == [note] * is_told
    assert (note in str(summary).splitlines()) == is_told
    if is_told:
        evaluate_table(recs, truth, metric, relevance=name)


@pytest.mark.parametrize(("by", "told"), [(None, "label"), ("label", "click")])
def test_of_two_columns_of_grades_the_likelier_is_told(by, told):
    """None where it is a key of the lists."""
    recs = make("pandas", {"user": [1, 1], "item": ["a", "b"], "label": [0, 1], "score": [2, 1]})
    truth = {"user": [1, 1], "item": ["a", "b"], "click": [1, 0], "label": [0, 1]}
    with pytest.warns(RecmetricsWarning, match=f"the column '{told}' of truth is not read"):
        evaluate_table(recs, make("pandas", truth), "recall@1", by=by)


@pytest.mark.parametrize("form", ["lazy", "csv", "capital", "parquet", "parts"])
def test_a_column_of_grades_of_any_form_is_told(form, tmp_path):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    recs = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "rank": [1, 2, 1]})
    truth = pl.DataFrame({"user": [1, 2, 1], "item": ["a", "a", "b"], "label": [1, 1, 0]})
    recs.write_csv(tmp_path / "recs.csv")
    truth.write_csv(tmp_path / "truth.csv")
    truth.write_parquet(tmp_path / "truth.parquet")
    truth.rename({"label": "Relevance"}).write_csv(tmp_path / "capital.csv")
    tables = {
        "lazy": (recs.lazy(), truth.lazy()),
        "csv": (tmp_path / "recs.csv", tmp_path / "truth.csv"),
        "capital": (tmp_path / "recs.csv", tmp_path / "capital.csv"),
        "parquet": (recs, str(tmp_path / "truth.parquet")),
        "parts": (recs, truth),
    }
    options = {"chunks": 4} if form == "parts" else {}
    name = "Relevance" if form == "capital" else "label"
    note = f"the column {name!r} of truth is not read, so every row is relevant, all alike"
    with pytest.warns(RecmetricsWarning) as caught:
        evaluate_table(*tables[form], "recall@1", **options)
    assert [str(each.message).partition(";")[0] for each in caught] == [note]
    _, summary = evaluate_table(*tables[form], "recall@1", return_summary=True, **options)
    assert note in str(summary)


def test_a_column_of_grades_that_are_equal_in_each_bucket_is_told():
    """Each user has a bucket alone, or shares it with the other one as a call without buckets."""
    pl = pytest.importorskip("polars", reason="polars is not installed")
    recs = pl.DataFrame({"user": [1, 2], "item": ["a", "a"], "rank": [1, 1]})
    truth = pl.DataFrame({"user": [1, 2], "item": ["a", "a"], "label": [1, 0]})
    for chunks in (None, 1, 64):
        with pytest.warns(RecmetricsWarning, match="the column 'label' of truth is not read"):
            evaluate_table(recs, truth, "recall@1", chunks=chunks)


@WHOLE_AND_IN_PARTS
@pytest.mark.parametrize("convention", ["sklearn", "torchmetrics"])
def test_orders_of_equal_scores_that_only_matrices_average_are_told(convention, chunks):
    """In the lists of u and v two scores are equal; of u, the relevant item is the second."""
    run = {
        "u": {"x": 1.0, "y": 1.0, "z": 0.5},
        "v": {"x": 0.5, "y": 0.5},
        "w": {"x": 1.0, "y": 0.5},
    }
    truth = {"u": {"y": 1}, "v": {"x": 1}, "w": {"x": 1}}
    options = {"convention": convention, "chunks": chunks}
    note = (
        "2 lists have equal scores, which rank in the order of the rows; the system of the "
        "convention gives them one rank or averages over their orders, as Metrics.compute of a "
        "matrix does"
    )
    with pytest.warns(RecmetricsWarning) as caught:
        values = evaluate_table(run, truth, "ndcg@1", **options)
    assert [(str(each.message), each.message.argument) for each in caught] == [(note, "convention")]
    assert sorted(values["ndcg@1"]) == [0.0, 1.0, 1.0]
    _, summary = evaluate_table(run, truth, "ndcg@1", return_summary=True, **options)
    assert note in str(summary).splitlines()
    first = {user: {"a": 2.0, **items} for user, items in run.items()}
    evaluate_table(first, truth, "ndcg@1", **options)  # equal scores are behind k
    matrix = Metrics.compute([[1.0, 1.0, 0.5]], [[0, 1, 0]], "ndcg@1", convention=convention)
    assert matrix["ndcg@1"] == (0 + 1) / 2
    for changed in ({"metrics_list": "ndcg@1", "convention": "ranx"}, {"metrics_list": "recall@1"}):
        if "convention" in changed or convention == "torchmetrics":  # sklearn has no recall
            evaluate_table(run, truth, **{"chunks": chunks, "convention": convention, **changed})
    ranks = {"user": ["u", "u"], "item": ["x", "y"], "rank": [1, 2], "score": [0.5, 0.5]}
    evaluate_table(pd.DataFrame(ranks), truth, "ndcg@1", **options)


# --- Training items ------------------------------------------------------------------------------


@EVERY_KIND
def test_lists_that_exclude_makes_short_are_told(kind):
    """User 1 had b, user 2 had both items, user 3 had one of three."""
    recs = BOTH | {
        "user": [*BOTH["user"], 3, 3, 3, 4],
        "item": [*BOTH["item"], "a", "b", "c", "a"],
        "rank": [1, 2, 1, 2, 1, 2, 3, 1],
    }
    del recs["score"]
    train = make(kind, {"user": [1, 2, 2, 3], "item": ["b", "a", "b", "c"]})
    mean, lines = measured(recs, RELEVANT, "mrr@2", kind, exclude=train)
    assert mean == 0
    assert lines[1:3] == [
        "3 lists have fewer than 2 items, the largest k; 2 of them because exclude took items "
        "out: their values may be too low",
        "exclude holds all relevant items of 2 of the 2 users with relevant items, and excluded "
        "items are never hits; are exclude= and the truth the same data? exclude= must be the "
        "items seen in training, and the truth those of the test",
    ]
    _, lines = measured(recs, RELEVANT, "mrr@2", kind)
    assert lines[1] == "1 list has fewer than 2 items, the largest k: their values may be too low"
    tables = make(kind, recs), make(kind, RELEVANT)
    _, summary = evaluate_table(*tables, "mrr@1", return_summary=True)
    assert summary.short == "no list has fewer than 1 items, the largest k"
    assert "fewer than" not in str(summary)
    assert "exclude" not in "".join(lines)


@EVERY_KIND
@WHOLE_AND_IN_PARTS
def test_relevant_items_that_exclude_holds_are_counted(kind, chunks):
    """Of users 1 and 2, exclude holds 1 of 2 and 2 of 2 relevant items, and one of user 3."""
    users = {"user": [1, 1, 2, 2, 3, 3, 3], "item": ["a", "b", "a", "b", "a", "b", "c"]}
    train = make(kind, {"user": [1, 2, 2, 3, 3], "item": ["a", "a", "b", "c", "z"]})
    _, lines = measured(users, users, "hit", kind, exclude=train, in_order=True, chunks=chunks)
    assert lines[1:3] == [
        "exclude holds all relevant items of 1 of the 3 users with relevant items",
        f"exclude holds {1 + 2 + 1} of {2 + 2 + 3} relevant items: they are never hits, but count "
        "as relevant",
    ]
    models = {"user": users["user"] * 2, "item": users["item"] * 2, "model": [*"xxxxxxxyyyyyyy"]}
    options = {"exclude": train, "in_order": True, "by": "model", "chunks": chunks}
    _, lines = measured(models, users, "hit", kind, **options)
    assert lines[1:3] == [
        "exclude holds all relevant items of 2 of the 6 lists with relevant items",
        f"exclude holds {2 * 4} of {2 * 7} relevant items: they are never hits, but count as "
        "relevant",
    ]
    targets = {"user": [1, 2, 3], "item": ["a", "b", "c"]}
    options = {"exclude": make(kind, {"user": [1], "item": ["a"]}), "in_order": True}
    _, lines = measured(targets, targets, "hit", kind, chunks=chunks, **options)
    assert [line for line in lines if "exclude holds" in line] == [
        "exclude holds all relevant items of 1 of the 3 users with relevant items"
    ]
