"""evaluate_table: one call, with side information as tables."""

import math

import numpy as np
import pytest
from problems import plain_specs, side_information
from tables_problems import EVERY_KIND, make, read

pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics import ArgumentError, InputError, InputTypeError, Metrics, UndefinedMetricError
from recmetrics.tables import RecListAnalysis, evaluate_table

RECS = {"user": ["b", "b", "a", "a"], "item": [7, 8, 8, 9], "score": [1.0, 2.0, 0.5, 0.1]}
TRUTH = {"user": ["a", "b", "c"], "item": [9, 7, 7], "rating": [1.0, 3.0, 1.0]}
ALL = [str(spec) for spec in plain_specs(k=3) if spec.k]  # auc needs whole rankings
N_USERS, N_ITEMS = 12, 9


def evaluated(metrics, recs=RECS, truth=TRUTH, kind="pandas", **options):
    tables = {
        name: make(kind, value) if isinstance(value, dict) else value
        for name, value in options.items()
    }
    return read(evaluate_table(make(kind, recs), make(kind, truth), metrics, **tables))


# --- Against matrices ----------------------------------------------------------------------------


def random_problem(seed=0):
    """Rankings and truth as matrices, and the same as tables whose rows are shuffled."""
    rng = np.random.default_rng(seed)
    ranking = np.full((N_USERS, 5), -1)
    truth = rng.integers(0, 3, (N_USERS, N_ITEMS)) * (rng.random((N_USERS, N_ITEMS)) < 0.4)
    truth[3] = 0
    for user in range(N_USERS):
        length = rng.integers(1, 6)
        ranking[user, :length] = rng.permutation(N_ITEMS)[:length]
    users, ranks = np.nonzero(ranking >= 0)
    rows = rng.permutation(len(users))
    listed = {
        "who": [f"u{user}" for user in users[rows]],
        "thing": [f"i{item}" for item in ranking[users, ranks][rows]],
        "place": ranks[rows] * 2 + 1,
    }
    users, items = np.nonzero(truth)
    relevant = {
        "who": [f"u{user}" for user in users],
        "thing": [f"i{item}" for item in items],
        "stars": truth[users, items],
    }
    return ranking, truth, listed, relevant


def side_tables(side):
    items = [f"i{item}" for item in range(N_ITEMS)]
    users = [f"u{user}" for user in range(N_USERS)]
    genres = side["genres"]
    return {
        "catalogue": {"thing": items[::-1]},
        "popularity": {"thing": items, "share": side["popularity"]},
        "features": {"thing": items, **{f"f{i}": side["features"][:, i] for i in range(3)}},
        "genres": {"thing": items, **{f"g{i}": genres[:, i] for i in range(4)}},
        "profile": {"who": users, **{f"g{3 - i}": side["profile"][:, 3 - i] for i in range(4)}},
    }


@EVERY_KIND
def test_every_metric_is_what_compute_ranked_gives(kind):
    ranking, truth, recs, relevant = random_problem()
    side = side_information(N_USERS, N_ITEMS)
    expected = Metrics.compute_ranked(ranking, truth, ALL, **side)
    got = evaluated(
        ALL,
        recs,
        relevant,
        kind,
        user="who",
        item="thing",
        rank="place",
        rating="stars",
        **side_tables(side),
    )
    assert list(got) == ["who", "nrecs", *ALL]
    users = [int(user.removeprefix("u")) for user in got["who"]]
    assert sorted(users) == list(range(N_USERS))
    assert got["nrecs"] == (ranking[users] >= 0).sum(axis=1).tolist()
    for metric in ALL:
        values = np.broadcast_to(expected[metric], N_USERS)[users]
        np.testing.assert_allclose(got[metric], values, rtol=1e-12, err_msg=metric)


@EVERY_KIND
def test_similarity_holds_both_ways(kind):
    lists = {"user": [1, 1, 1], "item": ["x", "y", "z"]}
    truth = {"user": [1], "item": ["x"]}
    similarity = {
        "item": ["y", "z", "z", "q"],
        "other": ["x", "y", "x", "x"],
        "value": [0.5, 0.25, 0.0, 9.0],
    }
    got = evaluated(["diversity"], lists, truth, kind, similarity=similarity)
    assert got["diversity"][0] == pytest.approx(1 - (0.5 + 0.25 + 0.0) / 3, abs=1e-12)
    again = {"item": ["x", "x"], "other": ["y", "y"], "value": [0.5, 0.25]}
    with pytest.raises(InputError) as caught:
        evaluated(["diversity"], lists, truth, kind, similarity=again)
    assert str(caught.value) == (
        "similarity, columns 'item', 'other': row 1 (counted from 0) holds 'x', 'y' again, first "
        "in row 0; expected one row for each"
    )


@EVERY_KIND
def test_popularity_from_training_interactions(kind):
    train = {"user": ["p", "p", "q", "q", "q"], "item": [8, 5, 8, 7, 7], "when": [1, 2, 3, 4, 5]}
    got = evaluated(["popularity@2"], kind=kind, popularity=train)
    assert got["user"] == ["b", "a"]
    assert got["popularity@2"] == [(2 / 2 + 1 / 2) / 2, (2 / 2 + 0 / 2) / 2]


# --- Its own choices -----------------------------------------------------------------------------


def test_it_is_the_analysis_of_the_same_columns():
    analysis = RecListAnalysis(["user"])
    for metric in ("ndcg", "precision@2"):
        analysis.add_metric(metric)
    recs, truth = make("pandas", RECS | {"day": [1, 2, 3, 4]}), make("pandas", TRUTH)
    expected = analysis.compute(recs, truth, include_missing=True)
    got, summary = evaluate_table(
        recs, truth, ["ndcg", "precision@2"], include_missing=True, return_summary=True
    )
    assert got.equals(expected)
    assert summary == analysis.summary


def test_rank_or_score_as_named():
    recs = RECS | {"rank": [1, 2, 1, 2]}
    assert evaluated("mrr", recs)["mrr"] == [1.0, 1 / 2]
    assert evaluated("mrr", recs, score="score")["mrr"] == [1 / 2, 1 / 2]
    assert evaluated("mrr", recs, rank="score")["mrr"] == [1.0, 1.0]
    with pytest.raises(ArgumentError, match=r"got both \('rank', 'score'\)"):
        evaluated("mrr", recs, rank="rank", score="score")
    with pytest.raises(InputError, match="recs has no column 'points'"):
        evaluated("mrr", recs, score="points")
    with pytest.raises(InputError, match="truth has no column 'stars'"):
        evaluated("mrr", recs, rating="stars")


def test_the_truth_must_have_the_user():
    with pytest.raises(InputError, match="truth has no column 'user'; it has 'fold', 'item'"):
        evaluated("mrr", RECS | {"fold": [1] * 4}, {"fold": [1], "item": [7]}, by="fold")


@EVERY_KIND
def test_a_system_metric_has_a_value_for_each_model(kind):
    recs = {
        "model": ["A", "A", "B", "B", "B"],
        "fold": [1, 1, 1, 1, 1],
        "user": [1, 2, 1, 2, 3],
        "item": [7, 7, 7, 8, 9],
    }
    truth = {"user": [1, 2, 3], "item": [7, 8, 9]}
    catalogue = {"item": [5, 6, 7, 8, 9]}
    got = evaluated(
        ["coverage@1", "hit@1"], recs, truth, kind, by=["model", "fold"], catalogue=catalogue
    )
    assert list(got) == ["model", "fold", "user", "nrecs", "coverage@1", "hit@1"]
    assert got["coverage@1"] == [1 / 5, 1 / 5, 3 / 5, 3 / 5, 3 / 5]
    assert got["hit@1"] == [1.0, 0.0, 1.0, 1.0, 1.0]
    pooled = evaluated("coverage@1", RECS, TRUTH, kind, catalogue={"item": [7, 8, 9, 10]})
    assert pooled["coverage@1"] == [1 / 4, 1 / 4]  # by score 8 is the first item of both


def test_the_catalogue_cuts_the_cutoff_and_holds_every_item():
    assert evaluated("precision@10")["precision@10"] == [1 / 10, 1 / 10]
    got = evaluated("precision@10", catalogue={"item": [6, 7, 8, 9]})
    assert got["precision@10"] == [1 / 4, 1 / 4]
    with pytest.raises(InputError) as caught:
        evaluated("hit", catalogue={"item": [7, 9]})
    assert str(caught.value) == (
        "recs, column 'item': row 1 (counted from 0) holds item 8, which is not in the catalogue"
    )
    with pytest.raises(InputError, match=r"truth, column 'item': row 0 .* holds item 9, which"):
        evaluated("hit", RECS | {"item": [7, 8, 7, 8]}, catalogue={"item": [7, 8]})
    with pytest.raises(InputError, match=r"catalogue, columns 'item': row 2 .* holds 7 again"):
        evaluated("hit", catalogue={"item": [7, 8, 7, 9]})


@pytest.mark.parametrize(
    "metric, options, message",
    [
        ("coverage@2", {}, "coverage@2 needs catalogue= (a table of 'item' with a row"),
        ("novelty@2", {}, "novelty@2 needs popularity= (a table of 'item' and the share"),
        ("diversity@2", {}, "diversity@2 needs features= (a table of 'item' and the numbers"),
        ("calibration", {"genres": {"item": [7], "g": [1]}}, "calibration needs profile= (a table"),
    ],
)
def test_what_a_metric_needs_is_said(metric, options, message):
    with pytest.raises(ArgumentError) as caught:
        evaluated(metric, **options)
    assert str(caught.value).startswith(message)


def test_an_item_without_features_is_refused():
    with pytest.raises(InputError) as caught:
        evaluated("diversity@2", features={"item": [7, 8], "x": [1.0, 2.0]})
    assert str(caught.value) == (
        "features has no row for item 9, which recs lists in row 3 (counted from 0); expected a "
        "row for every item listed"
    )
    with pytest.raises(InputError, match=r"features, columns 'item': row 1 .* holds 7 again"):
        evaluated("diversity@2", features={"item": [7, 7, 8, 9], "x": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(InputError, match="features must be a table of 'item' and the numbers"):
        evaluated("diversity@2", features={"item": [7, 8, 9]})


def test_side_tables_of_a_wrong_shape_are_refused():
    with pytest.raises(InputError, match=r"popularity must be .*; it has 'item', 'a', 'b'"):
        evaluated("novelty@2", popularity={"item": [7], "a": [0.5], "b": [0.5]})
    with pytest.raises(InputError, match=r"similarity must be .*; it has 'item', 'value'"):
        evaluated("diversity@2", similarity={"item": [7], "value": [0.5]})
    with pytest.raises(InputError, match=r"popularity, columns 'item': row 1 .* holds 7 again"):
        evaluated("novelty@2", popularity={"item": [7, 7], "share": [0.5, 0.5]})
    genres = {"item": [7, 8, 9], "g": [1, 1, 0]}
    with pytest.raises(InputError, match="profile has no column 'g'"):
        evaluated("calibration", genres=genres, profile={"user": ["a"], "h": [1]})
    with pytest.raises(InputError, match=r"profile, columns 'user': row 1 .* holds 'a' again"):
        evaluated("calibration", genres=genres, profile={"user": ["a", "a"], "g": [1, 1]})
    with pytest.raises(InputTypeError, match="recs is a pandas table and popularity a polars one"):
        evaluated("novelty@2", popularity=make("polars", {"item": [7], "share": [0.5]}))
    with pytest.raises(InputTypeError, match="popularity is of type ndarray"):
        evaluated("novelty@2", popularity=np.ones(3))


def test_side_information_that_no_metric_needs_is_not_looked_at():
    assert evaluated("hit", popularity="no table")["hit"] == [1.0, 1.0]


def test_a_user_without_profile_is_undefined():
    genres = {"item": [7, 8, 9], "g": [1, 1, 0], "h": [0, 1, 1]}
    got = evaluated("calibration", genres=genres, profile={"user": ["a"], "g": [1], "h": [1]})
    assert math.isnan(got["calibration"][0])
    assert not math.isnan(got["calibration"][1])


def test_undefined():
    recs = {"user": ["a", "x", "y"], "item": [9, 9, 9]}
    np.testing.assert_array_equal(evaluated("hit", recs)["hit"], [1.0, math.nan, math.nan])
    assert evaluated("hit", recs, undefined="zero")["hit"] == [1.0, 0.0, 0.0]
    with pytest.raises(UndefinedMetricError) as caught:
        evaluated("hit", recs, undefined="raise")
    assert "hit is undefined for 2 of 3 lists" in str(caught.value)
    assert "the first is user='x'; expected a value for every list" in str(caught.value)
    assert evaluated("hit", undefined="raise")["hit"] == [1.0, 1.0]
    with pytest.raises(ArgumentError, match="undefined must be 'nan', 'zero' or 'raise'"):
        evaluated("hit", undefined="none")


def test_missing_lists_have_no_diversity():
    features = {"item": [7, 8, 9], "x": [1.0, 2.0, 3.0], "y": [1.0, 0.0, 0.0]}
    got = evaluated(["hit", "diversity"], include_missing=True, features=features)
    assert (got["user"], got["nrecs"], got["ntruth"]) == (["b", "a", "c"], [2, 2, 0], [1, 1, 1])
    assert got["hit"] == [1.0, 1.0, 0.0]
    assert got["diversity"][0] == pytest.approx(1 - 1 / math.sqrt(2), abs=1e-12)
    assert math.isnan(got["diversity"][2])
