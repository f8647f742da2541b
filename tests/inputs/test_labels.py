"""Tables that name users and items: in one order they are read, in another one refused."""

import math
import pickle

import numpy as np
import pytest
from asserts import message_of

import recmetrics
from recmetrics import Evaluator, InputError, Metrics, ShapeError, StreamEvaluator

pandas = pytest.importorskip("pandas", reason="pandas is not installed")

# Users u and v. The first has the items x, y, z in this order, the second z, y, x.
SCORES = pandas.DataFrame([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]], list("uv"), list("xyz"))
TRUTH = pandas.DataFrame([[0, 1, 0], [1, 0, 0]], list("uv"), list("xyz"))
MRR = [1 / 2, 1 / 3]


def advised(error):
    """What the error says to type."""
    return str(error).rpartition("; type ")[2].partition(", or ")[0]


@pytest.mark.parametrize(
    ("columns", "index", "sides", "labels", "typed"),
    [
        ("zyx", "uv", "columns", "scores.columns", "columns=scores.columns"),
        ("xyz", "vu", "index", "scores.index", "index=scores.index"),
        (
            "yxz",
            "vu",
            "index and columns",
            "scores.index and scores.columns",
            "index=scores.index, columns=scores.columns",
        ),
    ],
)
@pytest.mark.parametrize("name", ["truth", "exclude", "candidates"])
def test_sets_in_another_order(columns, index, sides, labels, typed, name):
    tables = {"truth": TRUTH, "exclude": SCORES < 0, "candidates": SCORES > 0}
    tables[name] = tables[name].reindex(index=list(index), columns=list(columns))
    truth = tables.pop("truth")
    message = message_of(InputError, Metrics.compute, SCORES, truth, "mrr", **tables)
    assert message == (
        f"the {sides} of {name} should be {labels}, in that order, since tables are read by "
        f"position; type {name}.reindex({typed}, fill_value=0), or np.asarray({name}) if its rows "
        "and columns are in order"
    )


OF_ITEMS = pandas.Index(list("xyz"))
UNIT = pandas.DataFrame(np.eye(3), OF_ITEMS)
FLAGS = pandas.Series([True, True, False], OF_ITEMS)
NUMBERS = pandas.Series([1 / 2, 1 / 4, 1 / 8], OF_ITEMS)
GENRES = pandas.DataFrame([[1, 0], [1, 0], [0, 1]], OF_ITEMS, ["old", "new"])
PROFILE = pandas.DataFrame([[1, 0], [0, 1]], list("uv"), ["old", "new"])
# By argument: a metric and the value of each user.
BESIDE_SCORES = {
    "popularity": (NUMBERS, "popularity@1", [1 / 2, 1 / 8]),
    "propensity": (NUMBERS, "recall(weigh=ips)@2", [4 / 1, 0.0]),
    "features": (GENRES, "diversity@2", [0.0, 1.0]),
    "similarity": (UNIT.set_axis(OF_ITEMS, axis=1), "diversity@2", [1.0, 1.0]),
    "genres": (GENRES, "calibration@1", [0.0, 0.0]),
    "profile": (PROFILE, "calibration@1", [0.0, 0.0]),
    "candidates": (FLAGS, "mrr", [1 / 2, 1 / 2]),
    "strata": (FLAGS, "recall(of=strata)@2", [1 / 1, 0.0]),
}
BESIDE_GENRES = {"genres": {"profile": PROFILE}, "profile": {"genres": GENRES}}


@pytest.mark.parametrize("name", BESIDE_SCORES)
def test_side_information_in_another_order(name):
    """``value_counts``, for one, has the most frequent item first."""
    table, metric, expected = BESIDE_SCORES[name]

    def compute(given):
        keywords = {name: {name: given} if name == "strata" else given}
        keywords |= BESIDE_GENRES.get(name, {})
        return Metrics.compute(SCORES, TRUTH, metric, **keywords)[metric]

    assert compute(table) == pytest.approx(expected)
    with pytest.raises(InputError, match=rf"^the index .*of {name}.* in that order") as refused:
        compute(table[::-1])
    assert refused.value.argument == name
    typed = eval(
        advised(refused.value),
        {"scores": SCORES, name: {name: table[::-1]} if name == "strata" else table[::-1]},
    )
    assert compute(typed) == pytest.approx(expected)


def test_the_rows_and_columns_of_one_table():
    similarity = UNIT.set_axis(OF_ITEMS[::-1], axis=1)
    keywords = {"similarity": similarity}
    call = Metrics.compute, SCORES.to_numpy(), TRUTH.to_numpy(), "diversity@2"
    message = message_of(InputError, *call, **keywords)
    assert advised(message) == "similarity.reindex(columns=similarity.index)"


def test_the_columns_of_genres_and_profile():
    keywords = {"genres": GENRES, "profile": PROFILE[["new", "old"]]}
    message = message_of(InputError, Metrics.compute, SCORES, TRUTH, "calibration@1", **keywords)
    assert advised(message) == "profile.reindex(columns=genres.columns, fill_value=0)"
    as_train = TRUTH[["z", "y", "x"]]  # of three columns, so of items
    keywords = {"genres": GENRES, "profile": as_train}
    message = message_of(InputError, Metrics.compute, SCORES, TRUTH, "calibration@1", **keywords)
    assert advised(message) == "profile.reindex(columns=scores.columns, fill_value=0)"


def test_one_item_of_each_user():
    target = pandas.Series([1, 0], ["v", "w"])  # v has y, and u is not there
    message = message_of(InputError, Metrics.compute, SCORES, target, "mrr")
    assert advised(message) == "truth.reindex(scores.index, fill_value=-1)"
    typed = target.reindex(SCORES.index, fill_value=-1)
    values = Metrics.compute(SCORES, typed, "mrr")["mrr"].tolist()
    assert values == pytest.approx([math.nan, 1 / 2], nan_ok=True)


def test_lists_of_the_items_of_each_user():
    lists = pandas.Series([[0, 1], [0]], ["v", "w"])  # v has x and y, and u is not there
    message = message_of(InputError, Metrics.compute, SCORES, lists, "mrr")
    assert advised(message) == "[truth.get(user, []) for user in scores.index]"
    typed = [lists.get(user, []) for user in SCORES.index]
    values = Metrics.compute(SCORES, typed, "mrr")["mrr"].tolist()
    assert values == pytest.approx([math.nan, 1 / 2], nan_ok=True)
    values = Metrics.compute(SCORES, TRUTH, "mrr", candidates=lists.set_axis(list("uv")))["mrr"]
    assert values.tolist() == [1 / 2, 1 / 1]
    message = message_of(
        InputError, Metrics.compute, SCORES, TRUTH, "mrr", candidates=lists.set_axis(list("vu"))
    )
    assert advised(message) == "[candidates.get(user, []) for user in scores.index]"


def test_an_array_of_scores_beside_tables():
    exclude = (TRUTH * 0)[["z", "y", "x"]]
    for call in (
        lambda: Metrics.compute(SCORES.to_numpy(), TRUTH, "mrr", exclude=exclude),
        lambda: Metrics.chance(TRUTH, "mrr", exclude=exclude),
        lambda: Metrics.ceiling(TRUTH, "mrr", exclude=exclude),
        lambda: Evaluator(TRUTH, "mrr", exclude=exclude),
    ):
        message = message_of(InputError, call)
        assert advised(message) == "exclude.reindex(columns=truth.columns, fill_value=0)"


def test_factors_and_rankings():
    users = pandas.DataFrame(np.eye(2), list("uv"))
    items = pandas.DataFrame(SCORES.to_numpy().T, list("xyz"))
    assert Metrics.compute_factors(users, items, TRUTH, "mrr")["mrr"].tolist() == MRR
    turned = items[::-1]
    message = message_of(InputError, Metrics.compute_factors, users, turned, TRUTH, "mrr")
    assert advised(message) == "truth.reindex(columns=item_factors.index, fill_value=0)"
    message = message_of(InputError, Metrics.compute_factors, users[::-1], items, TRUTH, "mrr")
    assert advised(message) == "truth.reindex(index=user_factors.index, fill_value=0)"
    bias = pandas.Series([0.0, 9.0, 0.0], list("yxz"))
    message = message_of(
        InputError, Metrics.compute_factors, users, items, TRUTH, "mrr", item_bias=bias
    )
    assert advised(message) == "item_bias.reindex(item_factors.index)"

    ranking = pandas.DataFrame([[0, 1], [2, 0]], list("uv"))
    assert Metrics.compute_ranked(ranking, TRUTH, "mrr")["mrr"].tolist() == [1 / 2, 1 / 2]
    message = message_of(InputError, Metrics.compute_ranked, ranking, TRUTH[::-1], "mrr")
    assert advised(message) == "truth.reindex(index=ranking.index, fill_value=0)"


def test_batches_of_an_evaluator():
    evaluator = pickle.loads(pickle.dumps(Evaluator(TRUTH, "mrr")))
    message = message_of(InputError, evaluator.update, SCORES[["z", "y", "x"]])
    assert advised(message) == "scores.reindex(columns=truth.columns)"
    message = message_of(InputError, evaluator.update, SCORES[::-1])
    assert advised(message) == "scores.reindex(index=truth.index[0:2])"
    message = message_of(InputError, evaluator.update, SCORES, users=[1, 0])
    assert advised(message) == "scores.reindex(index=truth.index[users])"
    assert evaluator.counts()["mrr"].not_updated == 2
    evaluator.update(SCORES[::-1], users=[1, 0])
    assert evaluator.compute()["mrr"].tolist() == MRR
    turned = pandas.DataFrame(np.eye(2), list("vu"))
    items = SCORES.to_numpy().T
    message = message_of(InputError, evaluator.update_factors, turned, items, users=[0, 1])
    assert advised(message) == "user_factors.reindex(index=truth.index[users])"


@pytest.mark.parametrize("users", [None, [1]])
def test_a_batch_of_other_users_than_its_labels_name(users):
    """The next user after the first batch is v, and so is user 1."""
    evaluator = Evaluator(TRUTH, "mrr")
    evaluator.update(SCORES[:1])
    message = message_of(InputError, evaluator.update, SCORES[:1], users)
    assert advised(message) == "users=truth.index.get_indexer(scores.index)"
    evaluator.update(SCORES[1:], users=TRUTH.index.get_indexer(SCORES[1:].index))
    assert evaluator.compute()["mrr"].tolist() == MRR


@pytest.mark.parametrize("users", [None, [0, 1, 2]])
def test_a_batch_of_users_whom_the_truth_lacks(users):
    scores = SCORES.reindex(list("vwu"), fill_value=0.0)
    truth = TRUTH.reindex(list("uvt"), fill_value=1)
    evaluator = Evaluator(truth, "mrr")
    message = message_of(InputError, evaluator.update, scores, users)
    statement, _, keyword = advised(message).partition(", with ")
    scope = {"scores": scores, "truth": truth, "evaluator": evaluator}
    exec(f"{statement}; evaluator.update(scores, {keyword})", scope)
    with pytest.warns(recmetrics.NotUpdatedWarning, match="1 of 3"):
        assert evaluator.compute()["mrr"].tolist()[:2] == MRR


def test_a_batch_of_items_that_the_truth_lacks():
    """An item that nobody finds relevant has a rank, too: w stands where z is in the truth."""
    scores = SCORES.set_axis(list("xyw"), axis=1)
    message = message_of(InputError, Evaluator(TRUTH, "mrr").update, scores)
    assert advised(message) == "truth.reindex(columns=scores.columns, fill_value=0)"
    evaluator = Evaluator(eval(advised(message), {"truth": TRUTH, "scores": scores}), "mrr")
    evaluator.update(scores)
    assert evaluator.compute()["mrr"].tolist() == MRR
    factors = np.eye(2), scores.T
    message = message_of(InputError, Evaluator(TRUTH, "mrr").update_factors, *factors)
    assert advised(message) == "truth.reindex(columns=item_factors.index, fill_value=0)"


def test_tables_that_lack_items_or_users():
    """As the truth of a pivot of the test set does. Its labels say more than its shape."""
    truth = TRUTH[["x", "y"]]
    for call, typed, expected in (
        (Metrics.compute, truth, MRR),
        (StreamEvaluator("mrr").update, truth, None),
        (Metrics.compute, TRUTH[:1], [MRR[0], math.nan]),
        (Metrics.compute, pandas.Series([1], ["u"]), [MRR[0], math.nan]),
    ):
        keywords = {} if expected is None else {"metrics_list": "mrr"}
        message = message_of(InputError, call, SCORES, typed, **keywords)
        given = eval(advised(message), {"scores": SCORES, "truth": typed})
        values = Metrics.compute(SCORES, given, "mrr")["mrr"].tolist()
        assert values == pytest.approx(expected or MRR, nan_ok=True)
    message = message_of(InputError, Metrics.compute, SCORES, TRUTH, "mrr", exclude=truth * 0)
    assert advised(message) == "exclude.reindex(columns=scores.columns, fill_value=0)"
    message = message_of(InputError, Evaluator(truth, "mrr").update, SCORES)
    assert advised(message) == "truth.reindex(columns=scores.columns, fill_value=0)"


def test_tables_whose_shapes_are_told_first():
    """A transposed table may have the same numbers; items without a score may be relevant."""
    scores = pandas.DataFrame(np.eye(2, 3), [1, 2], [1, 2, 3])
    message = message_of(ShapeError, Metrics.compute, scores, scores.T, "mrr")
    assert "; one looks transposed: type scores.T or truth.T" in message
    message = message_of(ShapeError, recmetrics.overlap, scores, scores.T, "overlap")
    assert message.endswith("it looks transposed: type b.T")
    for call in (
        lambda: Metrics.compute(SCORES[["x", "y"]], TRUTH, "mrr"),
        lambda: Evaluator(TRUTH, "mrr").update(SCORES[["x", "y"]]),
    ):
        assert "reindex" not in message_of(ShapeError, call)


def test_batches_of_a_stream():
    stream = StreamEvaluator("popularity@1", popularity=NUMBERS)
    turned = SCORES[["z", "y", "x"]], TRUTH[["z", "y", "x"]]
    message = message_of(InputError, stream.update, *turned)
    assert advised(message) == "scores.reindex(columns=popularity.index)"
    stream.update(SCORES, TRUTH)
    assert stream.mean() == {"popularity@1": (1 / 2 + 1 / 8) / 2}
    stream = StreamEvaluator("calibration@1", genres=GENRES)
    message = message_of(InputError, stream.update, SCORES, TRUTH, profile=PROFILE[::-1])
    assert advised(message) == "profile.reindex(index=scores.index, fill_value=0)"


def test_the_scores_of_two_models():
    message = message_of(InputError, recmetrics.overlap, SCORES, SCORES[["z", "y", "x"]], "overlap")
    assert advised(message) == "b.reindex(columns=a.columns)"
    assert recmetrics.overlap(SCORES, SCORES, "overlap@2")["overlap@2"].tolist() == [1.0, 1.0]
    exclude = (SCORES < 0)[::-1]
    message = message_of(InputError, recmetrics.overlap, SCORES, SCORES, "overlap", exclude=exclude)
    assert advised(message) == "exclude.reindex(index=a.index, fill_value=0)"


def test_models_of_other_users_and_items():
    """Both list v: a has z and y, b has s and y. Filled with NaN, b would lack an item."""
    b = pandas.DataFrame([[3, 2, 1, 4], [1, 2, 3, 4]], list("vt"), list("yzws"))
    scope = {"a": SCORES, "b": b, "np": np}
    for side in ("index and columns", "columns"):
        message = message_of(InputError, recmetrics.overlap, scope["a"], scope["b"], "overlap@2")
        assert message.startswith(f"the {side} of b should be ")
        typed = message.rpartition("; type ")[2].partition(", or np.asarray")[0]
        exec(typed, scope)
    values = recmetrics.overlap(scope["a"], scope["b"], "overlap@2")["overlap@2"]
    assert values.tolist() == [1 / 2]


def test_rankings_of_two_models():
    """Their rows are users, and their columns ranks, whatever these are called."""
    a = pandas.DataFrame([[0, 1], [2, 3]], list("uv"), ["first", "second"])
    b = pandas.DataFrame([[0, 4, 2], [0, 1, 3]], list("vu"), ["first", "second", "third"])
    message = message_of(InputError, recmetrics.overlap_ranked, a, b, "overlap@2")
    assert advised(message) == "b.reindex(index=a.index)"
    values = recmetrics.overlap_ranked(a, b.reindex(a.index), "overlap@2")["overlap@2"]
    assert values.tolist() == [2 / 2, 0 / 2]
    of_others = b.set_axis(list("pq"))  # by position, as tables of other labels are
    values = recmetrics.overlap_ranked(a, of_others, "overlap@2")["overlap@2"]
    assert values.tolist() == [1 / 2, 0 / 2]


def test_tables_without_labels_are_read_by_position():
    def mrr(truth, **keywords):
        return Metrics.compute(SCORES, truth, "mrr", **keywords)["mrr"].tolist()

    assert mrr(TRUTH) == MRR
    assert mrr(pandas.DataFrame(TRUTH.to_numpy())) == MRR
    counted = TRUTH.set_axis([0, 1], axis=0).set_axis([0, 1, 2], axis=1)
    assert mrr(counted) == MRR
    assert mrr(TRUTH[["y", "x", "z"]].to_numpy()) == [1 / 1, 1 / 2]
    of_others = TRUTH.set_axis(list("abc"), axis=1)  # no item of the scores
    assert mrr(of_others) == MRR
    unused = NUMBERS[::-1]  # no metric reads it
    assert mrr(TRUTH, popularity=unused) == MRR
    shared = pandas.Series([1, 0], ["z", "y"])  # two items, whatever their labels
    assert mrr(TRUTH, candidates=shared) == [1 / 2, 1 / 2]


@pytest.mark.parametrize("as_index", [pandas.RangeIndex, lambda n: pandas.Index([*range(n)])])
def test_items_numbered_from_0_in_another_order(as_index):
    """``pivot`` has an index of the numbers, and a frame of an array those that pandas counts."""
    scores = SCORES.set_axis(as_index(3), axis=1)
    truth = TRUTH.set_axis([0, 1, 2], axis=1)
    for order in ([1, 0, 2], slice(None, None, -1)):
        message = message_of(InputError, Metrics.compute, scores, truth.loc[:, order], "mrr")
        assert advised(message) == "truth.reindex(columns=scores.columns, fill_value=0)"
    assert Metrics.compute(scores, truth, "mrr")["mrr"].tolist() == MRR
    part = TRUTH.set_axis([7, 2, 0], axis=1)  # of a larger table, whose scores pandas counts anew
    if as_index is pandas.RangeIndex:
        assert Metrics.compute(scores, part, "mrr")["mrr"].tolist() == MRR


def test_batches_whose_users_pandas_counts():
    evaluator = Evaluator(TRUTH.set_axis([0, 1], axis=0), "mrr")
    counted = SCORES.iloc[::-1].reset_index(drop=True)
    evaluator.update(counted, users=[1, 0])
    assert evaluator.compute()["mrr"].tolist() == MRR


def test_tables_of_polars_and_pyarrow_have_columns_alone():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    scores = polars.DataFrame({"x": [3.0, 1.0], "y": [2.0, 2.0]})
    truth = polars.DataFrame({"x": [1, 0], "y": [0, 1]})
    assert Metrics.compute(scores, truth, "mrr")["mrr"].tolist() == [1 / 1, 1 / 1]
    turned = truth.select("y", "x")
    message = message_of(InputError, Metrics.compute, scores, turned, "mrr")
    assert advised(message) == "truth.select([*scores.columns])"
    message = message_of(InputError, Metrics.compute, scores.to_pandas(), turned, "mrr")
    assert advised(message) == "truth.select([*scores.columns])"
    assert turned.select([*scores.to_pandas().columns]).equals(truth)
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    scores = scores.to_arrow()
    turned = turned.to_arrow()
    message = message_of(InputError, Metrics.compute, scores, turned, "mrr")
    assert advised(message) == "truth.select([*scores.column_names])"
    typed = turned.select([*scores.column_names])
    assert Metrics.compute(scores, typed, "mrr")["mrr"].tolist() == [1 / 1, 1 / 1]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_polars_and_pyarrow_that_lack_an_item(library):
    """Their own ``select`` would raise an error of that library."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    a = polars.DataFrame({"x": [3.0, 1.0], "y": [2.0, 2.0], "z": [1.0, 3.0]})
    b = polars.DataFrame({"y": [3.0, 1.0], "z": [2.0, 2.0], "w": [1.0, 3.0]})
    truth = polars.DataFrame({"y": [1, 0], "x": [0, 1], "w": [0, 0]})
    if library == "pyarrow":
        a, b, truth = a.to_arrow(), b.to_arrow(), truth.to_arrow()
    scope = {"scores": a, "truth": truth, "a": a, "b": b, "np": np}

    message = message_of(InputError, Metrics.compute, a, truth, "mrr")
    typed = eval(advised(message), scope)
    assert Metrics.compute(a, typed, "mrr")["mrr"].tolist() == MRR
    message = message_of(InputError, Evaluator(truth, "mrr").update, a)
    evaluator = Evaluator(eval(advised(message), scope), "mrr")
    evaluator.update(a)
    assert evaluator.compute()["mrr"].tolist() == MRR

    message = message_of(InputError, recmetrics.overlap, a, b, "overlap@2")
    exec(message.rpartition("; type ")[2].partition(", or np.asarray")[0], scope)
    values = recmetrics.overlap(scope["a"], scope["b"], "overlap@2")["overlap@2"]
    assert values.tolist() == [1 / 2, 1 / 2]


NUMBERED = SCORES.set_axis([0, 1], axis=0).set_axis([0, 1, 2], axis=1)


def test_numbers_in_another_order_beside_an_array():
    """An array has the users and items 0, 1, 2, ...; a table that ``pivot`` makes may have not."""
    turned = NUMBERED[[1, 0, 2]]
    truth = TRUTH.to_numpy()
    message = message_of(InputError, Metrics.compute, turned, truth, "mrr")
    assert message == (
        "scores has the numbers from 0 in another order as its columns, and truth has no labels "
        "in that order, so that both are read by position; type scores.sort_index(axis=1) if these "
        "are the numbers of the items, or np.asarray(scores) if its rows and columns are in order"
    )
    users = pandas.DataFrame(np.eye(2), [1, 0])
    for expected, call in (
        ("scores", lambda: Metrics.compute(turned, [[1], [0]], "mrr")),
        (
            "truth",
            lambda: Metrics.compute_ranked(
                [[0, 1], [2, 0]], TRUTH.set_axis([1, 0, 2], axis=1), "mrr"
            ),
        ),
        (
            "ranking",
            lambda: Metrics.compute_ranked(
                pandas.DataFrame([[0, 1], [2, 0]], [1, 0]), truth, "mrr"
            ),
        ),
        ("user_factors", lambda: Metrics.compute_factors(users, np.eye(3)[:, :2], truth, "mrr")),
        ("exclude", lambda: Metrics.chance(truth, "mrr", exclude=turned < 0)),
        (
            "candidates",
            lambda: Metrics.compute(NUMBERED.to_numpy(), truth, "mrr", candidates=turned > 0),
        ),
        ("a", lambda: recmetrics.overlap(turned, truth, "overlap")),
    ):
        message = message_of(InputError, call)
        assert message.startswith(f"{expected} has the numbers from 0 in another order as its ")


def test_numbers_in_another_order_of_all_tables():
    """Or of one table alone, or of ranks: nothing contradicts them."""
    turned = NUMBERED.loc[[1, 0], [1, 0, 2]]
    truth = TRUTH.set_axis([1, 0], axis=0).set_axis([1, 0, 2], axis=1)
    assert Metrics.compute(turned, truth, "mrr")["mrr"].tolist() == [1 / 3, 1 / 2]
    assert Metrics.chance(truth, "hit@3")["hit@3"].tolist() == [1, 1]
    ranking = pandas.DataFrame([[0, 1], [2, 0]], columns=[1, 0])
    assert Metrics.compute_ranked(ranking, [[1], [0]], "mrr")["mrr"].tolist() == [1 / 2, 1 / 2]
    arrays = turned.to_numpy(), truth.to_numpy()
    assert Metrics.compute(*arrays, "mrr")["mrr"].tolist() == [1 / 3, 1 / 2]


def test_numbers_in_another_order_in_batches():
    truth = TRUTH.to_numpy()
    evaluator = Evaluator(truth, "mrr")
    turned = NUMBERED[::-1]
    message = message_of(InputError, evaluator.update, turned)
    assert advised(message).startswith("scores.sort_index() if ")
    message = message_of(InputError, evaluator.update, NUMBERED[[1, 0, 2]])
    assert advised(message).startswith("scores.sort_index(axis=1) if ")
    evaluator.update(turned, users=[1, 0])  # which names the user of each row
    assert evaluator.compute()["mrr"].tolist() == MRR
    of_turned = Evaluator(TRUTH.set_axis([1, 0], axis=0), "mrr")
    for users in (None, slice(0, 2)):
        message = message_of(InputError, of_turned.update, NUMBERED.to_numpy(), users)
        assert advised(message).startswith("truth.sort_index() if ")
    for users in ([1, 0], [0, 1]):  # the second are read as a slice
        of_turned.update(NUMBERED.to_numpy()[users], users)
    assert of_turned.compute()["mrr"].tolist() == MRR
    stream = StreamEvaluator("mrr")
    message = message_of(InputError, stream.update, turned, truth)
    assert advised(message).startswith("scores.sort_index() if ")


def test_items_of_pandas_in_another_order_are_refused():
    """``value_counts`` has the most frequent item first: item 2, then 0 and 1."""
    shares = pandas.Series([2, 0, 2, 2, 1, 0]).value_counts() / 3
    scores, truth = [[3.0, 2.0, 1.0]], [[1, 0, 0]]

    def compute(popularity):
        return Metrics.compute(scores, truth, "novelty@1", popularity=popularity)["novelty@1"]

    message = message_of(InputError, compute, shares)
    assert message == (
        "popularity has the numbers from 0 in another order as its index, and scores has no labels "
        "in that order, so that both are read by position; type popularity.sort_index() if these "
        "are the numbers of the items, or np.asarray(popularity) if its rows and columns are in "
        "order"
    )
    assert compute(shares.sort_index()).tolist() == [-math.log2(2 / 3)]
    assert compute(shares.rename(index={0: 7})).tolist() == [0.0]  # of other ids, by position
    bias = pandas.Series([1.0, 0.0, 0.0], index=[2, 1, 0])
    factors = np.ones((1, 1)), np.ones((3, 1))
    message = message_of(
        InputError, Metrics.compute_factors, *factors, truth, "mrr", item_bias=bias
    )
    assert advised(message).startswith("item_bias.sort_index() if ")
    of_items = pandas.DataFrame(np.eye(3)).loc[[2, 1, 0]]
    for name, value, typed in (
        ("features", of_items, "features.sort_index() if "),
        (
            "similarity",
            of_items.sort_index()[[2, 1, 0]],
            "similarity.reindex(columns=similarity.index)",
        ),
    ):
        message = message_of(
            InputError, Metrics.compute, scores, truth, "diversity@2", **{name: value}
        )
        assert advised(message).startswith(typed)
    strata = {"tail": shares < 0.5}
    metric = "recall(of=tail)@1"
    message = message_of(InputError, Metrics.compute, scores, truth, metric, strata=strata)
    assert advised(message).startswith("strata['tail'].sort_index() if ")
    of_tail = {"tail": strata["tail"].sort_index()}
    assert np.isnan(Metrics.compute(scores, truth, metric, strata=of_tail)[metric])
    items = pandas.Series([2, 0], index=[1, 0])  # indices in any order, and no mask
    assert Metrics.compute(scores, truth, "hit@1", candidates=items)["hit@1"] == 1


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", "object", "category"])
@pytest.mark.parametrize("names", [None, "012", "xyz"])
def test_items_of_any_dtype_and_beside_any_labels(dtype, names):
    scores, truth = np.array([[3.0, 2.0, 1.0]]), np.array([[1, 0, 0]])
    if names:
        scores, truth = (pandas.DataFrame(table, columns=[*names]) for table in (scores, truth))
    shares = pandas.Series([2, 0, 2, 2, 1, 0]).value_counts() / 4
    shares.index = shares.index.astype(dtype)
    message = message_of(InputError, Metrics.compute, scores, truth, "novelty@1", popularity=shares)
    assert "has the numbers from 0 in another order" in message
    in_order = eval(advised(message).partition(" if ")[0], {"popularity": shares})
    values = Metrics.compute(scores, truth, "novelty@1", popularity=in_order)["novelty@1"]
    assert values.tolist() == [-math.log2(2 / 4)]


def test_columns_of_digits_beside_numbers_in_another_order():
    scores = pandas.DataFrame([[3.0, 2.0, 1.0]], columns=[*"012"])
    truth = pandas.DataFrame([[0, 1, 0]], columns=[1, 0, 2])
    message = message_of(InputError, Metrics.compute, scores, truth, "mrr")
    assert advised(message).startswith("truth.sort_index(axis=1) if ")
    assert Metrics.compute(scores[[*"102"]], truth, "mrr")["mrr"].tolist() == [1 / 1]


def test_items_in_one_order_of_all_tables():
    order = [1, 0, 2]
    popularity = pandas.Series([1 / 2, 1 / 4, 1 / 8])[order]
    truth = TRUTH.set_axis([0, 1, 2], axis=1)[order]
    tables = NUMBERED[order], truth
    values = Metrics.compute(*tables, "novelty@1", popularity=popularity)["novelty@1"]
    assert values.tolist() == [1, 3]
    stream = StreamEvaluator("novelty@1", popularity=popularity)
    stream.update(*tables)
    assert stream.compute()["novelty@1"].tolist() == [1, 3]
    arrays = [table.to_numpy() for table in tables]
    message = message_of(InputError, stream.update, *arrays)
    assert advised(message).startswith("popularity.sort_index() if ")


class Coordinates:
    """An array of xarray, as far as it is looked at here: a table whose sides have other names."""

    def __init__(self, table):
        self.table = table
        self.dims = ("user", "item")[: table.ndim]
        self.shape = table.shape
        self.ndim = table.ndim
        self.dtype = table.to_numpy().dtype

    def __array__(self, dtype=None, copy=None):
        return np.array(self.table, dtype)

    def get_index(self, dimension):
        return self.table.axes[self.dims.index(dimension)]

    def reindex(self, labels, **fill):
        table = self.table
        for dimension, index in labels.items():
            table = table.reindex(index, axis=self.dims.index(dimension), **fill)
        return Coordinates(table)

    def sel(self, labels):
        return self.reindex(labels)


def test_arrays_with_coordinates():
    """Arrays of xarray are read by position; coordinates in another order are refused."""
    scores = Coordinates(SCORES)
    assert Metrics.compute(scores, Coordinates(TRUTH), "mrr")["mrr"].tolist() == MRR
    turned = Coordinates(TRUTH.loc[["v", "u"], ["z", "x", "y"]])
    target = Coordinates(pandas.Series([0, 1], ["v", "u"]))
    train = Coordinates(TRUTH.loc[:, ["z", "x", "y"]] * 0)
    numbered = Coordinates(TRUTH.set_axis([2, 0, 1], axis=1))
    other_items = Coordinates(SCORES.set_axis([*"xyw"], axis=1))
    names = "scores.get_index('user') and scores.get_index('item')"
    for truth, keywords, typed in (
        (
            turned,
            {},
            "truth.reindex({'user': scores.get_index('user'), 'item': scores.get_index('item')}, "
            "fill_value=0)",
        ),
        (target, {}, "truth.reindex({'user': scores.get_index('user')}, fill_value=-1)"),
        (
            Coordinates(TRUTH),
            {"exclude": train},
            "exclude.reindex({'item': scores.get_index('item')}, fill_value=0)",
        ),
    ):
        message = message_of(InputError, Metrics.compute, scores, truth, "mrr", **keywords)
        assert advised(message) == typed
        assert (names in message) == (truth is turned)
        sets = {"truth": truth, **keywords}
        sets[typed.partition(".")[0]] = eval(typed, {"scores": scores, **sets})
        values = Metrics.compute(scores, sets.pop("truth"), "mrr", **sets)["mrr"]
        assert values.tolist() == MRR
    message = message_of(InputError, Metrics.compute, SCORES.to_numpy(), numbered, "mrr")
    assert advised(message).startswith(
        "truth.sel({'item': sorted(truth.get_index('item'), key=int)})"
    )
    truth = numbered.sel({"item": sorted(numbered.get_index("item"), key=int)})
    values = Metrics.compute(SCORES.to_numpy(), truth, "mrr")["mrr"].tolist()
    assert values == [1 / 1, 1 / 1]
    message = message_of(InputError, Evaluator(Coordinates(TRUTH), "mrr").update, other_items)
    assert advised(message) == "scores.reindex({'item': truth.get_index('item')})"
    ranking = Coordinates(pandas.DataFrame([[0, 1], [2, 0]], list("uv")))
    assert Metrics.compute_ranked(ranking, TRUTH, "mrr")["mrr"].tolist() == [1 / 2, 1 / 2]
