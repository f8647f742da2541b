"""Strata and propensities of tables: the numbers of arrays, for ids of any kind."""

import numpy as np
import pytest
from asserts import assert_identical, message_of

from recmetrics import ArgumentError, InputError, InputTypeError, Metrics, propensity_from

pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics.tables import evaluate_table  # needs narwhals

RNG = np.random.default_rng(0)
N_USERS, N_ITEMS, LENGTH = 30, 20, 8
RANKING = np.argsort(RNG.random((N_USERS, N_ITEMS)), axis=1)[:, :LENGTH]
TRUTH = RNG.random((N_USERS, N_ITEMS)) < 0.3
HAD = RNG.random((N_USERS, N_ITEMS)) < 0.4
TAIL = RNG.random(N_ITEMS) < 0.6
PROPENSITY = RNG.choice([0.1, 0.5, 1.0], N_ITEMS)
USERS = np.array([f"user {i}" for i in RNG.permutation(N_USERS)])
ITEMS = np.array([f"item {i}" for i in RNG.permutation(N_ITEMS)])
METRICS = [
    *("recall@5", "recall(of=tail)@5", "ndcg(of=had)@5", "mrr(of=had)"),
    *("recall(weigh=snips)@5", "precision(weigh=ips, of=had)@5"),
]


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def table(request):
    library = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    make = library.table if request.param == "pyarrow" else library.DataFrame
    return lambda **columns: make({name: np.array(each) for name, each in columns.items()})


def pairs(matrix):
    users, items = np.nonzero(matrix)
    return {"user": USERS[users], "item": ITEMS[items]}


def recs():
    rank = np.tile(np.arange(1, LENGTH + 1), N_USERS)
    return {"user": np.repeat(USERS, LENGTH), "item": ITEMS[RANKING.ravel()], "rank": rank}


def evaluated(table, metrics, **options):
    import narwhals.stable.v2 as nw

    found = evaluate_table(table(**recs()), table(**pairs(TRUTH)), metrics, **options)
    found = found.reset_index() if hasattr(found, "reset_index") else found
    frame = nw.from_native(found, eager_only=True)
    place = {user: row for row, user in enumerate(frame["user"].to_list())}
    rows = [place[user] for user in USERS]
    columns = {text: frame[text].to_list() for text in metrics}
    return {
        text: np.array([np.nan if each[row] is None else each[row] for row in rows])
        for text, each in columns.items()
    }


@pytest.mark.parametrize("with_catalogue", [False, True])
def test_the_numbers_are_those_of_arrays(table, with_catalogue):
    options = {"catalogue": table(item=ITEMS)} if with_catalogue else {}
    got = evaluated(
        table,
        METRICS,
        strata={"tail": table(item=ITEMS[TAIL]), "had": table(**pairs(HAD))},
        propensity=table(item=ITEMS[::-1], chance=PROPENSITY[::-1]),
        **options,
    )
    given = {"strata": {"tail": TAIL, "had": HAD}, "propensity": PROPENSITY}
    expected = Metrics.compute_ranked(RANKING, TRUTH, METRICS, **given)
    assert_identical(got, expected)


def test_strata_and_profiles_of_users_with_lists_of_very_different_lengths(table):
    """One list has more items than all others together, and users do not come in order."""
    n_users, n_items = 40, 3000
    ranking = [RNG.permutation(n_items)[: n_items if u == 7 else u % 3] for u in range(n_users)]
    truth, had = (RNG.random((n_users, n_items)) < 0.3 for _ in range(2))
    genres, profile = RNG.random((n_items, 2)), RNG.random((n_users, 2))
    metrics = ["recall(of=had)@5", "ndcg(of=had)", "calibration@5"]
    order = RNG.permutation(n_users)
    rows = [(u, i, rank) for u in order for rank, i in enumerate(ranking[u], 1)]
    columns = dict(zip(("user", "item", "rank"), np.array(rows).T, strict=True))
    pairs_of = [dict(zip(("user", "item"), np.nonzero(each), strict=True)) for each in (truth, had)]
    names = {"a": genres[:, 0], "b": genres[:, 1]}
    found = evaluate_table(
        table(**columns),
        table(**pairs_of[0]),
        metrics,
        strata={"had": table(**pairs_of[1])},
        genres=table(item=np.arange(n_items), **names),
        profile=table(user=np.arange(n_users), a=profile[:, 0], b=profile[:, 1]),
    )
    expected = Metrics.compute_ranked(
        ranking, truth, metrics, strata={"had": had}, genres=genres, profile=profile
    )
    found = found.reset_index() if hasattr(found, "reset_index") else found
    users = np.asarray(found["user"])
    for text in metrics:
        values = np.array(found[text].to_numpy(), np.float64)
        np.testing.assert_array_equal(values, expected[text][users], err_msg=text)


def test_propensities_are_estimated_from_training_interactions(table):
    train = HAD | (np.arange(N_ITEMS) < 3)
    # Interactions of items and users that are in no other table count no item of the catalogue.
    more = {name: np.append(each, "elsewhere") for name, each in pairs(train).items()}
    got = evaluated(table, METRICS[4:5], propensity=table(**more), catalogue=table(item=ITEMS))
    propensity = propensity_from(train)
    expected = Metrics.compute_ranked(RANKING, TRUTH, METRICS[4:5], propensity=propensity)
    np.testing.assert_array_equal(got[METRICS[4]], expected[METRICS[4]])


def test_a_stratum_that_no_metric_reads_is_not_looked_at(table):
    pytest.importorskip("polars", reason="polars is not installed")  # which reads files
    strata = {"tail": table(item=["b"]), "other": "there_is_no_such_file.csv"}
    values = evaluate_table({"u": ["a", "b"]}, {"u": ["b"]}, "mrr(of=tail)", strata=strata)
    assert np.asarray(values["mrr(of=tail)"]).tolist() == [1 / 2]


ERRORS = {
    "no strata": (
        {},
        ArgumentError,
        "recall(of=tail)@5 needs the items of 'tail' in strata=, got none; type strata={'tail': "
        "table}",
    ),
    "another column": (
        {"strata": {"tail": {"it": ITEMS}}},
        InputError,
        "strata['tail'] has no column 'item'; it has 'it'; did you mean 'it'?",
    ),
    "ids of another type": (
        {"strata": {"tail": {"item": [1, 2]}}},
        InputTypeError,
        "strata['tail'], column 'item' holds integers (Int64), recs, column 'item' strings "
        "(String), expected ids of one type; cast one of them",
    ),
    "no propensity": (
        {"metric": "recall(weigh=ps)@5"},
        ArgumentError,
        "recall(weigh=ps)@5 needs propensity= (a table of 'item' and the probability that it is "
        "observed if it is relevant, or of the training interactions, 'user' and 'item'), got "
        "none; type propensity=train",
    ),
    "zero": (
        {"metric": "recall(weigh=ps)@5", "propensity": {"item": ITEMS, "p": np.zeros(N_ITEMS)}},
        InputError,
        "propensity, column 'p': row 0 (counted from 0) holds 0; expected a probability from "
        "1e-100 to 1, or the training interactions",
    ),
    "two columns": (
        {
            "metric": "recall(weigh=ps)@5",
            "propensity": {"item": ITEMS, "p": PROPENSITY, "q": PROPENSITY},
        },
        InputError,
        "propensity must be a table of 'item' and the probability that it is observed if it is "
        "relevant, or of the training interactions, 'user' and 'item'; it has 'item', 'p', 'q'",
    ),
    "an item without a row": (
        {"metric": "recall(weigh=ps)@5", "propensity": {"item": ["item 99"], "p": [0.5]}},
        InputError,
        f"propensity has no row for item {str(pairs(TRUTH)['item'][0])!r}, which truth lists in "
        "row 0 (counted from 0); expected a row for every item listed",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    options, error, message = ERRORS[name]
    metric = options.get("metric", "recall(of=tail)@5")
    given = {}
    if "strata" in options:
        given["strata"] = {key: pd.DataFrame(each) for key, each in options["strata"].items()}
    if "propensity" in options:
        given["propensity"] = pd.DataFrame(options["propensity"])
    assert (
        message_of(
            error, evaluate_table, pd.DataFrame(recs()), pd.DataFrame(pairs(TRUTH)), metric, **given
        )
        == message
    )
