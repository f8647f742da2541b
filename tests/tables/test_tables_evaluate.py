"""evaluate_table: one call, with side information as tables."""

import inspect
import math
import re
from decimal import Decimal

import numpy as np
import pytest
from asserts import message_of
from problems import plain_specs, side_information
from tables_problems import EVERY_KIND, N_ITEMS, N_USERS, make, random_problem, read, side_tables

pytest.importorskip("narwhals", reason="narwhals is not installed")

import recmetrics
from recmetrics import (
    ArgumentError,
    InputError,
    InputTypeError,
    Metrics,
    RecmetricsWarning,
    UndefinedMetricError,
)
from recmetrics._core.spec import METRICS
from recmetrics.tables import RecListAnalysis, evaluate_table

RECS = {"user": ["b", "b", "a", "a"], "item": [7, 8, 8, 9], "score": [1.0, 2.0, 0.5, 0.1]}
TRUTH = {"user": ["a", "b", "c"], "item": [9, 7, 7], "rating": [1.0, 3.0, 1.0]}
# Others are refused for lists that lack items.
ALL = [str(spec) for spec in plain_specs(k=3) if spec.k and not spec.metric.counts_all_items]


def evaluated(metrics, recs=RECS, truth=TRUTH, kind="pandas", **options):
    tables = {
        name: make(kind, value) if isinstance(value, dict) else value
        for name, value in options.items()
    }
    return read(evaluate_table(make(kind, recs), make(kind, truth), metrics, **tables))


# --- Against matrices ----------------------------------------------------------------------------


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
        relevance="stars",
        **side_tables(side),
    )
    assert list(got) == ["who", "nrecs", *ALL, "ntruth"]
    users = [int(user.removeprefix("u")) for user in got["who"]]
    assert sorted(users) == list(range(N_USERS))
    assert got["ntruth"] == (truth[users] > 0).sum(axis=1).tolist()
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
    assert message_of(
        InputError, evaluated, ["diversity"], lists, truth, kind, similarity=again
    ) == (
        "similarity, columns 'item', 'other': row 1 (counted from 0) holds item='x', other='y' "
        "again, first in row 0; expected one row for each"
    )
    foreign = {"item": ["X", "X"], "other": ["Y", "Z"], "value": [0.5, 0.25]}
    told = "^similarity, column 'item': no id of recs occurs here; recs begins with 'x', similarity"
    with pytest.warns(RecmetricsWarning, match=told):
        evaluated(["diversity"], lists, truth, kind, similarity=foreign)
    foreign["other"] = ["y", "Z"]
    assert evaluated(["diversity"], lists, truth, kind, similarity=foreign)["diversity"][0] == 1


def test_the_order_of_rows_does_not_move_the_tail():
    """Of three equally popular items, the first two of their table are the head."""
    recs = {"user": [1, 1, 1], "item": ["x", "y", "z"], "rank": [1, 2, 3]}
    popularity = {"item": ["z", "x", "y"], "share": [0.5] * 3}
    for rows in ([0, 1, 2], [2, 1, 0]):
        shuffled = {name: [column[row] for row in rows] for name, column in recs.items()}
        text = "long_tail(tail=0.4)@2"
        got = evaluated([text], shuffled, {"user": [1], "item": ["x"]}, popularity=popularity)
        assert got[text] == [1 / 2]  # x, which is in the head, and y


@EVERY_KIND
def test_popularity_from_training_interactions(kind):
    train = {"user": ["p", "p", "q", "q", "q"], "item": [8, 5, 8, 7, 7], "when": [1, 2, 3, 4, 5]}
    got = evaluated(["popularity@2"], kind=kind, popularity=train)
    assert got["user"] == ["b", "a", "c"]
    assert got["popularity@2"][:2] == [(2 / 2 + 1 / 2) / 2, (2 / 2 + 0 / 2) / 2]
    assert got["popularity@2"][2] == 0.0  # of an empty list
    with pytest.warns(RecmetricsWarning, match="^popularity, column 'item': no id of recs occurs"):
        evaluated(["popularity@2"], kind=kind, popularity=train | {"item": [6, 5, 6, 5, 5]})


# --- Training items ------------------------------------------------------------------------------


@EVERY_KIND
def test_training_items_are_excluded_as_from_scores(kind):
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((N_USERS, N_ITEMS))
    relevant, had = rng.random((2, *scores.shape)) < 0.3
    metrics = ["ndcg@3", "recall@5", "precision(denom=list)@5", "coverage@2", "auc", "mean_rank"]
    users, items = np.indices(scores.shape).reshape(2, -1)
    recs = {"user": users, "item": items, "score": scores.ravel()}
    train = dict(zip(("user", "item"), np.nonzero(had), strict=True))
    # A pair that stands twice, and ids of neither table.
    train = {name: [*ids, ids[0], 77] for name, ids in train.items()}
    got = evaluated(
        metrics,
        recs,
        dict(zip(("user", "item"), np.nonzero(relevant), strict=True)),
        kind,
        exclude=train,
        catalogue={"item": range(N_ITEMS)},
    )
    expected = Metrics.compute(scores, relevant, metrics, exclude=had)
    for metric in metrics:
        values = np.broadcast_to(expected[metric], N_USERS)[got["user"]]
        np.testing.assert_allclose(got[metric], values, rtol=1e-12, err_msg=metric)
    assert got["nrecs"] == (N_ITEMS - had.sum(axis=1))[got["user"]].tolist()


@EVERY_KIND
def test_the_items_below_an_excluded_one_move_up(kind):
    recs = {"user": [1, 1, 1, 1], "item": ["w", "x", "y", "z"], "rank": [1, 2, 3, 7]}
    truth, train = {"user": [1], "item": ["z"]}, {"user": [1, 1, 2], "item": ["x", "w", "y"]}
    closed = {"rank_gaps": "close"}
    assert evaluated("mrr", recs, truth, kind, exclude=train, **closed)["mrr"] == [1 / 2]
    kept = evaluated("mrr", recs, truth, kind, exclude=train, rank_gaps="keep")
    assert kept["mrr"] == [1 / (7 - 2)]
    # Without gaps, those that exclude makes are none to warn of.
    assert evaluated("mrr", recs | {"rank": [1, 2, 3, 4]}, truth, kind, exclude=train)["mrr"] == [
        1 / 2
    ]
    # An item that is excluded is none that repeats another.
    recs = {"user": [1, 1, 1], "item": ["x", "x", "z"]}
    assert evaluated("mrr", recs, truth, kind, exclude=train, repeats="waste")["mrr"] == [1.0]


@EVERY_KIND
def test_training_items_are_those_of_the_fold_where_the_table_has_one(kind):
    recs = {"fold": [1, 1, 2, 2], "user": ["a"] * 4, "item": ["x", "y"] * 2, "rank": [1, 2] * 2}
    truth = {"user": ["a"], "item": ["y"]}
    train = {"item": ["x"], "fold": [2], "user": ["a"]}
    got = evaluated("mrr", recs, truth, kind, by="fold", exclude=train)
    assert got["mrr"] == [1 / 2, 1.0]
    del train["fold"]
    assert evaluated("mrr", recs, truth, kind, by="fold", exclude=train)["mrr"] == [1.0, 1.0]


@EVERY_KIND
def test_a_table_of_training_items_is_checked(kind):
    assert message_of(InputError, evaluated, "mrr", kind=kind, exclude={"item": [7]}) == (
        "exclude has no column 'user'; it has 'item'"
    )
    foreign = {"user": ["b"], "item": [5]}
    with pytest.warns(RecmetricsWarning, match="^exclude, column 'item': no id of recs occurs"):
        evaluated("mrr", kind=kind, exclude=foreign)
    foreign = {"user": ["B"], "item": [7]}
    with pytest.warns(RecmetricsWarning, match="^exclude, column 'user': no id of recs occurs"):
        evaluated("mrr", kind=kind, exclude=foreign)
    truth = {"user": ["a", "b"], "item": [9, 7]}
    with pytest.warns(RecmetricsWarning, match="^exclude holds all relevant items of 2 of the 2"):
        got = evaluated("mrr", truth=truth, kind=kind, exclude=truth)
    assert got["mrr"] == [0.0, 0.0]
    catalogue = {"item": [7, 8, 9]}
    short = message_of(
        InputError, evaluated, "auc", kind=kind, exclude={"user": ["b"], "item": [7]},
        catalogue=catalogue,
    )  # fmt: skip
    assert short.startswith(
        "recs lists 1 of the 2 items of the catalogue that are not excluded for user='b', but auc"
    )


# --- Its own choices -----------------------------------------------------------------------------


def test_it_is_the_analysis_of_the_same_columns():
    analysis = RecListAnalysis(["user"])
    for metric in ("ndcg", "precision@2"):
        analysis.add_metric(metric)
    recs, truth = make("pandas", RECS | {"day": [1, 2, 3, 4]}), make("pandas", TRUTH)
    with pytest.warns(RecmetricsWarning, match="1 user of the truth without recommendations"):
        expected = analysis.compute(recs, truth)
    got, summary = evaluate_table(
        recs, truth, ["ndcg", "precision@2"], include_missing=False, return_summary=True
    )
    assert got.equals(expected)
    assert summary == analysis.summary


def test_rank_or_score_as_named():
    recs = RECS | {"rank": [1, 2, 1, 2]}
    assert evaluated("mrr", recs)["mrr"] == [1.0, 1 / 2, 0.0]
    assert evaluated("mrr", recs, score="score")["mrr"] == [1 / 2, 1 / 2, 0.0]
    got = evaluated("mrr", recs, rank="score", rank_gaps="close")
    assert got["mrr"] == [1.0, 1.0, 0.0]
    orders = {"rank": "rank", "score": "score", "in_order": True}
    for left_out in orders:
        two = {name: each for name, each in orders.items() if name != left_out}
        with pytest.raises(ArgumentError, match=r"got (rank|score)='\w+' and \w+=.*; give one"):
            evaluated("mrr", recs, **two)
    with pytest.raises(InputError, match="recs has no column 'points'"):
        evaluated("mrr", recs, score="points")
    with pytest.raises(InputError, match="truth has no column 'stars'"):
        evaluated("mrr", recs, relevance="stars")


def test_grades_are_read_from_relevance_or_else_from_rating():
    recs = {"user": [1, 1], "item": [7, 8], "score": [2, 1]}
    truth = {"user": [1, 1], "item": [7, 8]}
    names = ("stars", "rating", "relevance")
    for n in (2, 3):  # the last of these names is read, unless another one is given
        columns = truth | {name: [place, 0] for place, name in enumerate(names[:n], 2)}
        assert evaluated("cg@2", recs, columns)["cg@2"] == [n + 1]
        assert evaluated("cg@2", recs, columns, relevance="stars")["cg@2"] == [2]
        swapped = columns | {"score": [1, 1]}
        with pytest.raises(InputError, match=f"recs has the column '{names[n - 1]}' and truth"):
            evaluated("cg@2", columns, swapped)


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
    assert list(got) == ["model", "fold", "user", "nrecs", "coverage@1", "hit@1", "ntruth"]
    assert got["user"] == [1, 2, 1, 2, 3, 3]
    assert got["coverage@1"] == [1 / 5, 1 / 5, 3 / 5, 3 / 5, 3 / 5, 1 / 5]
    assert got["hit@1"] == [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]
    options = {"catalogue": make(kind, catalogue), "return_summary": True}
    tables = make(kind, RECS), make(kind, TRUTH)
    _, summary = evaluate_table(*tables, ["coverage@1", "hit@1"], **options)
    assert "coverage@1  0.2000 of all lists" in str(summary).splitlines()
    _, summary = evaluate_table(
        make(kind, recs), make(kind, truth), "coverage@1", by="model", in_order=True, **options
    )
    # A 1/5, B 3/5, of three lists each, one of them missing
    line = "coverage@1  one value for each 'model', in all its rows; mean 0.4000 over 6 lists"
    assert line in str(summary).splitlines()
    pooled = evaluated("coverage@1", RECS, TRUTH, kind, catalogue={"item": [7, 8, 9, 10]})
    assert pooled["coverage@1"] == [1 / 4] * 3  # by score 8 is the first item of both


@EVERY_KIND
@pytest.mark.parametrize("repeats", ["waste", "drop"])
@pytest.mark.parametrize("unknown", ["waste", "drop"])
def test_invalid_items_are_what_they_are_to_compute_ranked(kind, repeats, unknown):
    ranking, truth, _, relevant = random_problem()
    ranking = np.hstack([np.where(ranking[:, 3:4] < 0, -1, ranking[:, :1]), ranking])[:, ::-1]
    ranking = [[item for item in row if item >= 0] for row in ranking.tolist()]
    for user in range(0, N_USERS, 2):
        ranking[user].insert(user % 3, N_ITEMS + 3)
    rows = [(user, item, rank) for user, row in enumerate(ranking) for rank, item in enumerate(row)]
    recs = {
        "who": [f"u{user}" for user, _, _ in rows],
        "thing": [f"i{item}" for _, item, _ in rows],
        "place": [rank + 1 for _, _, rank in rows],
    }
    side = side_information(N_USERS, N_ITEMS)
    names = {"user": "who", "item": "thing", "rank": "place", "relevance": "stars"}
    policies = {"repeats": repeats, "unknown": unknown}
    tables = {name: make(kind, table) for name, table in side_tables(side).items()}
    table, summary = evaluate_table(
        make(kind, recs),
        make(kind, relevant),
        ALL,
        **names,
        **tables,
        **policies,
        return_summary=True,
    )
    got = read(table)
    expected = Metrics.compute_ranked(ranking, truth, ALL, **policies, **side)
    users = [int(user[1:]) for user in got["who"]]
    for text in ALL:
        own = expected[text][users] if expected[text].ndim else [expected[text]] * N_USERS
        np.testing.assert_array_equal(got[text], own, err_msg=text)
    n_unknown, n_repeats = N_USERS // 2, len(rows) - sum(len(set(row)) for row in ranking)
    assert n_repeats > 0
    assert summary.invalid == (n_repeats, n_repeats, n_unknown, n_unknown)
    assert got["nrecs"] == [len({i for i in ranking[user] if i < N_ITEMS}) for user in users]
    line = f"{n_repeats} repeats in {n_repeats} lists, {n_unknown} unknown items in {n_unknown} "
    assert f"wasted or dropped: {line}" in str(summary)
    clean = evaluate_table(make(kind, RECS), make(kind, TRUTH), "mrr", return_summary=True)
    assert "wasted" not in str(clean[1])


@pytest.mark.parametrize(
    "repeats, unknown, rank", [("waste", "waste", 9), ("drop", "waste", 8), ("drop", "drop", 7)]
)
def test_invalid_items_leave_or_take_the_ranks_that_are_kept(repeats, unknown, rank):
    recs = {"user": [1, 1, 1, 1], "item": [7, 7, 99, 8], "rank": [2, 4, 5, 9]}
    got = evaluated(
        ["mrr", "hit@7", "coverage@7"],
        recs,
        {"user": [1], "item": [8]},
        rank_gaps="keep",
        catalogue={"item": [7, 8, *range(20, 40)]},
        repeats=repeats,
        unknown=unknown,
    )
    assert got["mrr"] == [1 / rank]
    assert got["hit@7"] == [float(rank <= 7)]
    assert got["coverage@7"] == [(1 + (rank <= 7)) / 22]


@pytest.mark.parametrize(
    ("items", "ranks", "without"),
    [
        ([1, 2, 999], [1, 3, 6], ([1, 2], [1, 3])),  # the list ends at its last item
        ([999, 1, 2], [4, 6, 7], ([1, 2], [5, 6])),  # a gap before an item stays
        ([1, 2, 1, 2, 999], [2, 3, 4, 8, 9], ([1, 2], [2, 3])),
        ([999, 998], [3, 5], ([], [])),
    ],
)
def test_a_dropped_item_takes_the_gap_behind_the_last_item_along(items, ranks, without):
    metrics = ["precision(denom=list)@10", "mrr", "map(denom=relevant)@6"]
    options = {"rank_gaps": "keep", "catalogue": {"item": [1, 2, *range(20, 40)]}}
    truth = {"user": [1], "item": [2]}
    given, left = (
        evaluated(
            metrics,
            {"user": [0, *([1] * len(rows[0]))], "item": [20, *rows[0]], "rank": [1, *rows[1]]},
            truth,
            repeats="drop",
            unknown="drop",
            **options,
        )
        for rows in ((items, ranks), without)
    )
    at = given["user"].index(1), left["user"].index(1)
    for name in metrics:
        assert given[name][at[0]] == left[name][at[1]], name


def test_policies_of_invalid_items_are_checked():
    assert message_of(ArgumentError, evaluated, "mrr", unknown="waste") == (
        "unknown='waste' needs catalogue=, the table of all items"
    )
    with pytest.raises(ArgumentError, match="repeats must be 'raise', 'waste' or 'drop', got 1"):
        evaluated("mrr", repeats=1)


def test_the_catalogue_holds_every_item_and_leaves_the_cutoff():
    assert evaluated("precision@10")["precision@10"] == [1 / 10, 1 / 10, 0.0]
    got = evaluated("precision@10", catalogue={"item": [6, 7, 8, 9]})
    assert got["precision@10"] == [1 / 10, 1 / 10, 0.0]
    assert message_of(InputError, evaluated, "hit", catalogue={"item": [7, 9]}) == (
        "recs, column 'item': row 1 (counted from 0) holds item 8, which is not in the catalogue; "
        "type unknown='waste' or unknown='drop' to accept such items"
    )
    with pytest.raises(InputError, match=r"truth, column 'item': row 0 .* holds item 9, which"):
        evaluated("hit", RECS | {"item": [7, 8, 7, 8]}, catalogue={"item": [7, 8]})
    with pytest.raises(InputError, match=r"catalogue, columns 'item': row 2 .* holds item=7 again"):
        evaluated("hit", catalogue={"item": [7, 8, 7, 9]})


GENRES = {"item": [7, 8, 9], "g": [1, 1, 0]}
MISTAKES = [
    (
        "coverage@2",
        {},
        r"coverage@2 needs catalogue= \(a table of 'item' with a row for each item of the "
        r"catalogue\), got none$",
    ),
    ("novelty@2", {}, r"novelty@2 needs popularity= \(a table of 'item' and the share"),
    (
        "diversity@2",
        {},
        r"diversity@2 needs features= \(a table of 'item' and the numbers of its vector\) or "
        r"similarity= \(a table of 'item', another item, and their similarity\), got none$",
    ),
    ("calibration", {"genres": GENRES}, r"calibration needs profile= \(a table"),
    (
        "diversity@2",
        {"features": {"item": [7, 8], "x": [1.0, 2.0]}},
        r"features has no row for item 9, which recs lists in row 3 \(counted from 0\); expected a "
        "row for every item listed$",
    ),
    (
        "diversity@2",
        {"features": {"item": [7, 7, 8, 9], "x": [1.0, 2.0, 3.0, 4.0]}},
        r"features, columns 'item': row 1 .* holds item=7 again",
    ),
    (
        "diversity@2",
        {"features": {"item": [7, 8, 9]}},
        "features must be a table of 'item' and the numbers .*; it has 'item'$",
    ),
    (
        "novelty@2",
        {"popularity": {"item": [7], "a": [0.5], "b": [0.5]}},
        "popularity must be .*; it has 'item', 'a', 'b'",
    ),
    (
        "novelty@2",
        {"popularity": {"item": [7, 8], "n": [1, 5]}},
        "popularity, column 'n': row 1 .* holds 5; expected the share of users who have the item",
    ),
    (
        "diversity@2",
        {"similarity": {"item": [7], "value": [0.5]}},
        "similarity must be .*; it has 'item', 'value'",
    ),
    (
        "calibration",
        {"genres": GENRES, "profile": {"user": ["a"], "h": [1]}},
        "profile has no column 'g'",
    ),
    (
        "calibration",
        {"genres": GENRES, "profile": {"user": ["a", "a"], "g": [1, 1]}},
        r"profile, columns 'user': row 1 .* holds user='a' again",
    ),
    ("novelty@2", {"popularity": np.ones(3)}, "popularity is of type ndarray"),
]


@pytest.mark.parametrize(("metric", "options", "message"), MISTAKES)
def test_side_tables_that_lack_or_repeat_something_are_refused(metric, options, message):
    with pytest.raises((ArgumentError, InputError, InputTypeError), match=f"^{message}"):
        evaluated(metric, **options)


def test_side_tables_are_of_the_library_of_recs():
    with pytest.raises(InputTypeError, match="recs is a pandas table and popularity a polars one"):
        evaluated("novelty@2", popularity=make("polars", {"item": [7], "share": [0.5]}))


def test_side_information_that_no_metric_needs_is_not_looked_at():
    assert evaluated("hit", popularity="no table")["hit"] == [1.0, 1.0, 0.0]


def test_a_user_without_profile_is_undefined():
    genres = {"item": [7, 8, 9], "g": [1, 1, 0], "h": [0, 1, 1]}
    got = evaluated("calibration", genres=genres, profile={"user": ["a"], "g": [1], "h": [1]})
    assert math.isnan(got["calibration"][0])
    assert not math.isnan(got["calibration"][1])


def test_undefined():
    recs, truth = {"user": ["a", "x", "y"], "item": [9, 9, 9]}, {"user": ["a"], "item": [9]}
    np.testing.assert_array_equal(evaluated("hit", recs, truth)["hit"], [1.0, math.nan, math.nan])
    assert evaluated("hit", recs, truth, undefined="zero")["hit"] == [1.0, 0.0, 0.0]
    with pytest.raises(UndefinedMetricError) as caught:
        evaluated("hit", recs, truth, undefined="raise")
    assert "hit is undefined: 2 of 3 lists have no relevant item" in str(caught.value)
    assert "the first is user='x'; expected a value for every list" in str(caught.value)
    assert evaluated("hit", undefined="raise")["hit"] == [1.0, 1.0, 0.0]
    with pytest.raises(ArgumentError, match="undefined must be 'nan', 'zero', 'one' or 'raise'"):
        evaluated("hit", undefined="none")


def test_items_outside_the_catalogue_need_no_features():
    """The list keeps 7 and 8, whose vectors have the cosine 0."""
    recs = {"user": [1, 1, 1], "item": [7, 9, 8], "rank": [1, 2, 3]}
    options = {
        "catalogue": {"item": [7, 8]},
        "features": {"item": [7, 8], "x": [1, 0], "y": [0, 1]},
    }
    got = evaluated("diversity", recs, {"user": [1], "item": [7]}, unknown="drop", **options)
    assert got["diversity"] == [1.0]


def test_missing_lists_have_no_diversity():
    features = {"item": [7, 8, 9], "x": [1.0, 2.0, 3.0], "y": [1.0, 0.0, 0.0]}
    got = evaluated(["hit", "diversity"], features=features)
    assert (got["user"], got["nrecs"], got["ntruth"]) == (["b", "a", "c"], [2, 2, 0], [1, 1, 1])
    assert got["hit"] == [1.0, 1.0, 0.0]
    assert got["diversity"][0] == pytest.approx(1 - 1 / math.sqrt(2), abs=1e-12)
    assert math.isnan(got["diversity"][2])


# --- What a number stands on ---------------------------------------------------------------------


def test_users_without_recommendations_count_as_empty_lists():
    recs, truth = {"user": [1], "item": [7]}, {"user": [1, 2, 3, 4], "item": [7, 8, 8, 8]}
    tables = make("pandas", recs), make("pandas", truth)
    got, summary = evaluate_table(*tables, "hit@1", return_summary=True)
    assert got["hit@1"].mean() == 1 / 4
    assert str(summary).splitlines()[:2] == [
        "1 list, 0 without a row in the truth; in the order of the rows",
        "3 users of the truth without recommendations (the first: user=2); they are added as "
        "empty lists; include_missing=False leaves them out",
    ]
    got, summary = evaluate_table(*tables, "hit@1", include_missing=False, return_summary=True)
    assert read(got) == {"user": [1], "nrecs": [1], "hit@1": [1.0]}
    assert (summary.missing, summary.n_missing) == ("left out", 3)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_an_undefined_value_is_null(kind):
    recs = {"user": ["a", "x", "y"], "item": [9, 9, 8], "score": [1.0, 1.0, 1.0]}
    got = evaluate_table(make(kind, recs), make(kind, TRUTH), ["hit@1", "dcg"])
    column = got["hit@1"]
    assert column.null_count == 2 if kind == "pyarrow" else column.null_count() == 2
    if kind == "polars":
        assert column.mean() == (1.0 + 0.0 + 0.0) / 3  # user a, and two without a list
        assert got["dcg"].null_count() == 0
    else:
        import pyarrow.compute as pc

        assert pc.mean(column).as_py() == (1.0 + 0.0 + 0.0) / 3


@pytest.mark.parametrize("name", ["in_order", "include_missing", "return_summary"])
@pytest.mark.parametrize("flag", ["no", 1, 0.0])
def test_a_flag_is_a_bool(name, flag):
    with pytest.raises(ArgumentError, match=f"^{name} must be True or False, got {flag!r}$"):
        evaluated("mrr", RECS, **{name: flag})


def test_a_missing_list_counts_where_recs_has_lists():
    recs = {"model": ["A", "B"], "fold": [1, 2], "user": [1, 1], "item": [7, 7]}
    truth = {"user": [1, 2], "item": [7, 7]}
    got = evaluated("hit@1", recs, truth, by=["model", "fold"], in_order=True)
    lists = zip(got["model"], got["fold"], got["user"], strict=True)
    assert list(lists) == [("A", 1, 1), ("B", 2, 1), ("A", 1, 2), ("B", 2, 2)]


def test_none_is_a_flag_of_missing_lists_alone():
    with pytest.raises(ArgumentError, match=r"^in_order must be True or False, got None$"):
        evaluated("mrr", RECS, in_order=None)
    assert evaluated("mrr", RECS, include_missing=None) == evaluated("mrr", RECS)


@pytest.mark.parametrize("metrics, is_of_trec", [("ndcg@10", True), (["mrr", "mrr@10"], False)])
def test_trec_is_named_for_its_metrics_alone(metrics, is_of_trec):
    truth = {"user": ["a"], "item": [8], "relevance": [-2]}
    with pytest.raises(InputError, match=r"is -2, .*; clip the column to 0 if it") as caught:
        evaluate_table(make("pandas", RECS), make("pandas", truth), metrics)
    assert ("; for judgements of TREC type convention='trec'" in str(caught.value)) == is_of_trec


@EVERY_KIND
@pytest.mark.parametrize("name", ["prediction", "Score", "RANK", "seconds"])
def test_a_column_of_numbers_that_is_not_read_is_an_error(kind, name):
    recs = {"user": [1, 1], "item": [7, 8], "model": ["A", "A"], name: [0.1, 0.9]}
    truth = {"user": [1], "item": [8]}
    assert message_of(InputError, evaluated, "mrr", recs, truth, kind) == (
        f"recs has no column 'rank' or 'score' to order its lists, but it has the column {name!r}, "
        f"which may be their order; type score={name!r} if higher is better, rank={name!r} if 1 is "
        "best, or in_order=True if the rows are in order"
    )
    assert evaluated("mrr", recs, truth, kind, score=name)["mrr"] == [1 / 1]
    got = evaluated("mrr", recs, truth, kind, rank=name, rank_gaps="close")
    assert got["mrr"] == [1 / 2]
    assert evaluated("mrr", recs, truth, kind, in_order=True)["mrr"] == [1 / 2]
    assert evaluated("mrr", recs | {"score": [0, 1]}, truth, kind)["mrr"] == [1 / 1]
    assert evaluated("mrr", recs, truth, kind, by=name)["mrr"] == [0.0, 1.0]


@EVERY_KIND
@pytest.mark.parametrize(
    "name, values, is_error",
    [
        ("prediction", ["0.1", "0.9"], True),  # as one bad cell of a file leaves them
        ("prediction", [False, True], True),
        ("seconds", ["0.1", "0.9"], False),
        ("seconds", [False, True], False),
    ],
)
def test_a_name_of_scores_is_an_order_whatever_it_holds(kind, name, values, is_error):
    recs = {"user": [1, 1], "item": [7, 8], name: values}
    truth = {"user": [1], "item": [8]}
    if not is_error:
        assert evaluated("mrr", recs, truth, kind)["mrr"] == [1 / 2]
        return
    with pytest.raises(InputError, match=f"it has the column '{name}', which may be"):
        evaluated("mrr", recs, truth, kind)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("values", [[0.1, 0.9], [None, 0.9]])
def test_objects_that_are_numbers_may_be_the_order(kind, values):
    recs = make(kind, {"user": [1, 1], "item": [7, 8]})
    truth = make(kind, {"user": [1], "item": [8]})
    library = pytest.importorskip(kind, reason=f"{kind} is not installed")
    series = library.Series(values, dtype=object)
    if kind == "pandas":
        recs["seconds"] = series
    else:
        recs = recs.with_columns(seconds=series)
    with pytest.raises(InputError, match="it has the column 'seconds', which may be"):
        evaluate_table(recs, truth, "mrr")


def test_the_likeliest_column_is_named_first():
    recs = {"user": [1, 1], "item": [7, 8], "time": [1, 2], "predicted_score": [0.1, 0.9]}
    with pytest.raises(InputError, match="columns 'predicted_score', 'time', which may be"):
        evaluated("mrr", recs, {"user": [1], "item": [8]})


@pytest.mark.parametrize("name", ["__index_level_0__", "level_0", "index", "Unnamed: 0", ""])
def test_an_index_of_pandas_orders_nothing(name):
    recs = {"user": [1, 1], "item": [7, 8], name: [5, 6]}
    assert evaluated("mrr", recs, {"user": [1], "item": [8]})["mrr"] == [1 / 2]


def test_lists_have_one_order():
    orders = {"rank": "place", "score": "score", "in_order": True}
    assert message_of(ArgumentError, evaluated, "mrr", **orders) == (
        "lists have one order, got rank='place' and score='score' and in_order=True; give one of "
        "them"
    )


@pytest.mark.parametrize(
    ("options", "order"),
    [
        ({}, "ordered by rank, ascending"),
        ({"score": "score"}, "ordered by score, descending"),
        ({"rank": "place"}, "ordered by place, ascending"),
        ({"in_order": True}, "in the order of the rows"),
    ],
)
def test_the_summary_says_what_orders_the_lists(options, order):
    recs = RECS | {"rank": [1, 2, 1, 2], "place": [2, 1, 2, 1]}
    _, summary = evaluate_table(
        make("pandas", recs), make("pandas", TRUTH), "mrr", return_summary=True, **options
    )
    assert summary.order == order
    assert str(summary).splitlines()[0] == f"2 lists, 0 without a row in the truth; {order}"
    assert repr(summary) == str(summary)  # as the last line of a cell shows it


SWAPPED = "they look swapped; the recommendations come first, then the truth"


@EVERY_KIND
@pytest.mark.parametrize("name", ["score", "rank"])
@pytest.mark.parametrize(
    ("more", "is_named", "message"),
    [
        ({"rating": [4]}, False, "recs has the column 'rating' and truth the column {!r}: {}"),
        (
            {},
            False,
            "recs has no column 'rank' or 'score' to order its lists, and truth has {!r}: {}; type "
            "in_order=True if the rows of recs are in order",
        ),
        ({}, True, "recs has no column {!r}, but truth has: {}"),
    ],
    ids=["a rating", "no order", "a named order"],
)
def test_swapped_tables_are_recognized(kind, name, more, is_named, message):
    recs = {"user": [1, 1], "item": [7, 8], name: [1, 2]}
    truth = {"user": [1], "item": [8]} | more
    options = {name: name} if is_named else {}
    got = message_of(InputError, evaluated, "mrr", truth, recs, kind, **options)
    assert got == message.format(name, SWAPPED)
    assert evaluated("mrr", recs, truth, kind, **options)["mrr"] == [
        1 if name == "score" else 1 / 2
    ]


@EVERY_KIND
def test_tables_in_their_places_are_not_taken_for_swapped(kind):
    recs = {"user": [1, 1], "item": [7, 8], "score": [1, 2]}
    truth = {"user": [1], "item": [8]}
    assert evaluated("mrr", recs | {"rating": [1, 1]}, truth, kind)["mrr"] == [1.0]
    assert evaluated("mrr", truth, recs, kind, in_order=True)["mrr"] == [1.0]


def test_the_analysis_recognizes_swapped_tables():
    recs = {"user": [1, 1], "item": [7, 8], "score": [1, 2]}
    tables = make("pandas", {"user": [1], "item": [8], "rating": [4]}), make("pandas", recs)
    with pytest.raises(InputError, match=SWAPPED):
        RecListAnalysis(["user"]).compute(*tables)


@EVERY_KIND
def test_the_analysis_warns_of_a_column_of_numbers_that_is_not_read(kind):
    recs = {"user": [1, 1], "item": [7, 8], "prediction": [0.1, 0.9]}
    truth = make(kind, {"user": [1], "item": [8]})
    analysis, every = RecListAnalysis(["user"]), RecListAnalysis()
    analysis.add_metric("mrr")
    every.add_metric("mrr")
    with pytest.warns(RecmetricsWarning) as caught:
        assert read(analysis.compute(make(kind, recs), truth))["mrr"] == [1 / 2]
    assert str(caught[0].message) == (
        "recs, column 'prediction' is not read, and the rows are taken in order; rename it to "
        "'score' if higher is better, to 'rank' if 1 is best, or leave it out"
    )
    assert caught[0].filename == __file__
    with pytest.warns(RecmetricsWarning, match=r"'prediction' identifies lists, as every column"):
        assert read(every.compute(make(kind, recs), truth))["mrr"] == [0.0, 1.0]
    recs = {"user": [1, 1], "item": [7, 8], "alpha": [0.1, 0.9]}  # no name of scores or ranks
    assert read(every.compute(make(kind, recs), truth))["mrr"] == [0.0, 1.0]


# --- Gaps in ranks -------------------------------------------------------------------------------

GAPS = {"user": [1, 1, 1, 2, 2], "item": [7, 8, 9, 7, 8], "rank": [7, 1, 4, 1, 2]}
RELEVANT = {"user": [1, 1, 2], "item": [9, 7, 8]}


@EVERY_KIND
def test_gaps_are_closed_with_a_warning(kind):
    with pytest.warns(RecmetricsWarning) as caught:
        got = evaluate_table(make(kind, GAPS), make(kind, RELEVANT), ["mrr", "precision@4"])
    assert str(caught[0].message) == (
        "recs, column 'rank': 1 of 2 lists have gaps in their ranks, the first is user=1; their "
        "items were ranked 1, 2, 3, ... in this order; rank_gaps='keep' keeps the ranks as they "
        "are, rank_gaps='close' closes the gaps without this warning"
    )
    assert caught[0].filename == __file__
    assert read(got)["mrr"] == [1 / 2, 1 / 2]
    assert read(got)["precision@4"] == [2 / 4, 1 / 4]
    assert evaluated("mrr", GAPS, RELEVANT, kind, rank_gaps="close")["mrr"] == [1 / 2, 1 / 2]


@EVERY_KIND
def test_kept_ranks_are_the_numbers_they_are(kind):
    metrics = ["mrr", "mrr@3", "precision@4", "precision(denom=list)@10", "hit@6", "dcg", "ndcg@7"]
    got = evaluated(metrics, GAPS, RELEVANT, kind, rank_gaps="keep")
    # User 1 has item 9 at rank 4 and item 7 at rank 7; user 2 has item 8 at rank 2.
    dcg = [1 / math.log2(4 + 1) + 1 / math.log2(7 + 1), 1 / math.log2(2 + 1)]
    ideal = [1 / math.log2(2) + 1 / math.log2(3), 1 / math.log2(2)]
    expected = {
        "mrr": [1 / 4, 1 / 2],
        "mrr@3": [0.0, 1 / 2],
        "precision@4": [1 / 4, 1 / 4],
        "precision(denom=list)@10": [2 / 7, 1 / 2],  # a list reaches to its last rank
        "hit@6": [1.0, 1.0],
        "dcg": dcg,
        "ndcg@7": [dcg[0] / ideal[0], dcg[1] / ideal[1]],
    }
    assert got["nrecs"] == [3, 2]
    for metric, values in expected.items():
        np.testing.assert_allclose(got[metric], values, rtol=1e-12, err_msg=metric)


@EVERY_KIND
def test_metrics_of_items_read_those_of_kept_ranks_up_to_k(kind):
    recs = {"user": [1, 1, 1, 2, 2, 2], "item": [7, 8, 9, 7, 8, 5], "rank": [7, 1, 4, 1, 2, 3]}
    popularity = {"item": [5, 7, 8, 9], "share": [0.75, 0.5, 0.25, 0.125]}
    got = evaluated(
        ["popularity@3", "popularity@4", "popularity", "coverage@1", "coverage@3", "coverage@9"],
        recs,
        RELEVANT,
        kind,
        rank_gaps="keep",
        popularity=popularity,
        catalogue={"item": [5, 6, 7, 8, 9, 10, 11]},
    )
    of_user_2 = (0.5 + 0.25 + 0.75) / 3
    assert got["popularity@3"] == [0.25, of_user_2]
    assert got["popularity@4"] == [(0.25 + 0.125) / 2, of_user_2]
    assert got["popularity"] == [(0.25 + 0.125 + 0.5) / 3, of_user_2]
    assert got["coverage@1"] == [2 / 7] * 2  # 8; 7
    assert got["coverage@3"] == [3 / 7] * 2  # 8; 7, 8, 5
    assert got["coverage@9"] == [4 / 7] * 2
    assert message_of(
        InputError,
        evaluated,
        "mrr",
        GAPS,
        RELEVANT,
        kind,
        rank_gaps="keep",
        catalogue={"item": [7, 8, 9, 1]},
    ) == (
        "recs, column 'rank': row 0 (counted from 0) holds rank 7, expected integers from 1 to 4, "
        "the size of the catalogue, since ranks are kept as they are; rank_gaps='close' uses only "
        "the order of the ranks"
    )


def test_a_convention_keeps_the_ranks_that_its_system_reads():
    got = evaluated("mrr@10", GAPS, RELEVANT, convention="rectools")
    assert got["mrr@10"] == [1 / 4, 1 / 2]
    got = evaluated("mrr@10", GAPS, RELEVANT, convention="rectools", rank_gaps="close")
    assert got["mrr@10"] == [1 / 2, 1 / 2]
    assert evaluated("mrr@10", convention="rectools")["mrr@10"] == [1 / 2, 1 / 2, 0.0]


@EVERY_KIND
@pytest.mark.parametrize("rank", [0, -1, 1.5, 2**24 + 1, 2**60])
def test_a_kept_rank_is_an_integer_from_1(kind, rank):
    dtype = float if rank == 1.5 else int
    recs = GAPS | {"rank": np.array([7, 1, 4, rank, 3], dtype)}
    assert message_of(InputError, evaluated, "mrr", recs, RELEVANT, kind, rank_gaps="keep") == (
        f"recs, column 'rank': row 3 (counted from 0) holds rank {rank}, expected integers from "
        "1 to 16,777,216, since ranks are kept as they are; rank_gaps='close' uses only the "
        "order of the ranks"
    )


def test_ranks_from_0_have_no_gap_and_others_have():
    without = GAPS | {"rank": [2, 0, 1, 0, 1]}
    assert evaluated("mrr", without, RELEVANT)["mrr"] == [1 / 2, 1 / 2]
    for ranks in ([2, 3, 4, 1, 2], [-1, 0, 1, 1, 2], [1.5, 2.5, 3.5, 1, 2]):
        with pytest.warns(RecmetricsWarning, match="1 of 2 lists have gaps"):
            evaluated("mrr", GAPS | {"rank": ranks}, RELEVANT)


def test_what_rank_gaps_takes():
    with pytest.raises(ArgumentError, match="rank_gaps must be 'close' or 'keep', got 'open'"):
        evaluated("mrr", rank_gaps="open")
    assert message_of(ArgumentError, evaluated, "mrr", rank_gaps="keep") == (
        "rank_gaps='keep' needs a column of ranks, but the lists are ordered by score, descending"
    )
    with pytest.raises(ArgumentError, match="rank_gaps must be 'close' or 'keep', got None"):
        RecListAnalysis().compute(make("pandas", GAPS), make("pandas", RELEVANT), rank_gaps=None)


# --- Lists of all items --------------------------------------------------------------------------


def test_the_help_names_every_metric_that_needs_a_catalogue():
    needing = {"": set(), "@2": set()}
    for metric in METRICS:
        for cutoff, metrics in needing.items():
            try:
                evaluated(metric + cutoff)
            except ArgumentError as error:  # others need other tables
                if "needs catalogue=" in str(error):
                    metrics.add(metric)
    of_all_lists = {"coverage", "personalization", "gini", "entropy", "exposure_gini"}
    named = {"fallout", "auc", "mean_rank", "percentile_rank"}
    assert needing == {"": of_all_lists | named, "@2": of_all_lists | {"fallout"}}
    text = inspect.getdoc(evaluate_table)
    paragraph = re.search(r"\ncatalogue\n(.+?)\n\w", text, re.DOTALL)[1]
    assert {metric for metric in METRICS if f"``{metric}``" in paragraph} == named


def test_the_type_of_a_table_can_be_imported():
    assert inspect.get_annotations(evaluate_table)["recs"] in recmetrics.tables.__all__


@EVERY_KIND
def test_auc_of_lists_that_lack_items_is_refused(kind):
    recs = {"user": [1, 1, 1, 2, 2, 3], "item": [7, 8, 9, 9, 8, 7], "rank": [1, 2, 3, 1, 2, 1]}
    truth, catalogue = {"user": [1, 4], "item": [8, 8]}, {"item": [7, 8, 9]}
    with pytest.raises(ArgumentError, match="auc needs catalogue= \\(a table of 'item' with a row"):
        evaluated("auc", recs, truth, kind)
    expected = (
        "recs lists {} of the 3 items of the catalogue for user={}, but auc counts all of them; "
        "expected lists of all items; with scores of all items, and the truth as a matrix, type "
        "Metrics.compute(scores, truth, ['auc']); for items that were shown, with their labels, "
        "type Metrics.compute_groups(scores, labels, ['auc'], ids=users)"
    )
    assert message_of(
        InputError, evaluated, "auc", recs, truth, kind, catalogue=catalogue
    ) == expected.format(0, 4) + (
        "; include_missing=False leaves out users without recommendations"
    )
    assert message_of(
        InputError,
        evaluated,
        "auc",
        recs,
        {"user": [1, 2], "item": [8, 8]},
        kind,
        catalogue=catalogue,
    ) == expected.format(2, 2)
    got = evaluated("auc", recs, truth, kind, catalogue=catalogue, include_missing=False)
    np.testing.assert_array_equal(got["auc"], [1 / 2, math.nan, math.nan])
    with pytest.raises(ArgumentError, match=r"auc needs catalogue=; type tables\.evaluate"):
        RecListAnalysis().add_metric("auc")


# --- Ties ----------------------------------------------------------------------------------------


@EVERY_KIND
@pytest.mark.parametrize(
    ("ids", "first"),
    [
        ([9, 10, 100], 9),  # as text: "9" comes after "100" and "10"
        (["a", "B", "ab"], "ab"),
        (["z", "é", "~"], "é"),  # as UTF-8: the bytes of é come after all of ASCII
    ],
)
def test_equal_scores_under_trec_rank_by_the_bytes_of_the_id(kind, ids, first):
    for items in (ids, ids[::-1]):
        recs = {"user": [1, 1, 1], "item": items, "score": [0.5, 0.5, 0.5]}
        truth = {"user": [1], "item": [first]}
        assert evaluated("mrr", recs, truth, kind, convention="trec")["mrr"] == [1.0]
        assert evaluated("mrr", recs, truth, kind)["mrr"] == [1 / (items.index(first) + 1)]
    recs["score"] = [0.5, 0.75, 0.5]
    place = 1 if items[1] == first else 2  # the higher score is still first
    assert evaluated("mrr", recs, truth, kind, convention="trec")["mrr"] == [1 / place]


@EVERY_KIND
def test_ties_under_trec_end_with_their_list(kind):
    """Documents in the order of trec_eval: of user 1 a c b, of user 2 e d f."""
    recs = {
        "user": [1, 2, 1, 2, 1, 2],
        "item": ["a", "d", "b", "e", "c", "f"],
        "score": [0.9, 0.5, 0.5, 0.5, 0.5, 0.1],
    }
    truth = {"user": [1, 2], "item": ["b", "d"]}
    values = evaluated("mrr", recs, truth, kind, convention="trec")["mrr"]
    np.testing.assert_array_equal(values, [1 / 3, 1 / 2])


@EVERY_KIND
def test_trec_reads_scores_in_single_precision(kind):
    """16,777,217 is the first whole number that float32 lacks: it ties with 16,777,216."""
    exact = [[2**60 + 1, 2**60]]
    if kind != "pandas":  # where decimals are objects
        exact.append([Decimal("1.00000001"), Decimal("1.00000000")])
    for scores in ([16_777_217, 16_777_216], [0.1 + 1e-12, 0.1], [2e39, 1e39], *exact):
        recs = {"user": [1, 1], "item": [8, 9], "score": scores}
        truth = {"user": [1], "item": [9]}
        assert evaluated("mrr", recs, truth, kind)["mrr"] == [1 / 2]
        assert evaluated("mrr", recs, truth, kind, convention="trec")["mrr"] == [1.0]


@pytest.mark.parametrize("path", [True, False, 0, "", []])
def test_a_file_of_values_is_named_by_a_path(path):
    message = f"^per_user must be the path of a file to write, .*, got {re.escape(repr(path))}$"
    with pytest.raises(ArgumentError, match=message):
        evaluated("mrr", RECS, per_user=path)


@pytest.mark.parametrize("name", ["values.csv", "values.TSV", "values.csv.gz", "values.xlsx"])
def test_a_file_of_values_is_parquet(name, tmp_path):
    path = tmp_path / name
    message = f"must be a Parquet file; type per_user='{tmp_path / 'values.parquet'}'"
    with pytest.raises(ArgumentError, match=re.escape(message)):
        evaluated("mrr", RECS, per_user=path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["values", "run.2026-01-29", "model=1.0", "values.parq", "a.PQ"])
def test_a_name_with_dots_is_no_other_format(name, tmp_path):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / name
    recs = polars.DataFrame({"user": [1, 1], "item": [7, 8]})
    evaluate_table(recs, recs[1:], "mrr", per_user=path)
    assert polars.read_parquet(path)["mrr"].to_list() == [1 / 2]
