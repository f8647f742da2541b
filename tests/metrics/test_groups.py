"""Groups in flat arrays: each is ranked as a user of its own."""

import math
import re

import numpy as np
import pytest
from asserts import assert_identical, message_of
from problems import plain_specs

from recmetrics import (
    ArgumentError,
    InputError,
    InputTypeError,
    Metrics,
    NaNScoreError,
    RecmetricsWarning,
    ShapeError,
    UndefinedMetricError,
)

# Group "b": scores 3, 1, 2 with relevances 0, 2, 1; group "a": 5, 5 with 0, 1.
SCORES = [3.0, 5.0, 1.0, 5.0, 2.0]
RELEVANCE = [0, 0, 2, 1, 1]
IDS = ["b", "a", "b", "a", "b"]
OF_HITS = [str(spec) for spec in plain_specs(3, ["hits"])]


def test_hand_worked_values():
    got = Metrics.compute_groups(SCORES, RELEVANCE, ["mrr", "ndcg@2", "precision@4"], ids=IDS)
    # "b" is ranked 0, 1, 2 and "a", by the order of its rows, 0, 1.
    assert got["mrr"].tolist() == [1 / 2, 1 / 2]
    ideal = 2 + 1 / math.log2(3)
    expected = [1 / math.log2(3) / ideal, 1 / math.log2(3)]
    np.testing.assert_allclose(got["ndcg@2"], expected, rtol=1e-15)
    assert got["precision@4"].tolist() == [2 / 4, 1 / 4]  # k is not lowered to the group


@pytest.mark.parametrize("ties", ["index", "expected"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bool"])
def test_a_group_is_a_call_of_its_own(dtype, ties):
    rng = np.random.default_rng(0)
    sizes = np.array([7, 0, 1, 30, 12])
    scores = rng.integers(0, 2 if dtype == "bool" else 6, 50).astype(dtype)
    relevance = rng.integers(0, 4, 50) * (rng.random(50) < 0.4)
    metrics = ["ndcg", "mrr", "map", "auc", "ndcg(gain=exp2)@3", "recall@3", "err@3"]
    got = Metrics.compute_groups(scores, relevance, metrics, sizes=sizes, ties=ties)
    start = np.concatenate(([0], np.cumsum(sizes)))
    for group, size in enumerate(sizes):
        rows = slice(start[group], start[group + 1])
        for text in metrics:
            expected = math.nan
            if size:
                one = scores[np.newaxis, rows], relevance[np.newaxis, rows]
                expected = Metrics.compute(*one, text, ties=ties)[text][0]
            np.testing.assert_array_equal(got[text][group], expected, err_msg=text)


@pytest.mark.parametrize(
    "names",
    [
        [7, -1, 3, 4, 10**12],
        ["q7", "q1", "", "é", "q10"],
        [0.5, -1.0, 2.0, 3.0, 1e9],
        np.array(["2024-01-02", "2024-01-01", "2020", "2021", "2030"], "M8[D]"),
    ],
    ids=["integers", "text", "floats", "dates"],
)
def test_ids_in_any_order_are_the_sizes_of_rows_side_by_side(names):
    rng = np.random.default_rng(1)
    group = rng.permutation(np.repeat(np.arange(5), [7, 4, 1, 30, 12]))
    scores, relevance = rng.integers(0, 9, 54), rng.integers(0, 2, 54)
    order = list(dict.fromkeys(group.tolist()))
    rows = np.concatenate([np.flatnonzero(group == each) for each in order])
    sizes = [np.count_nonzero(group == each) for each in order]
    expected = Metrics.compute_groups(scores[rows], relevance[rows], OF_HITS, sizes=sizes)
    ids = np.asarray(names)[group]
    for form in (ids, ids.tolist(), ids.astype(object)):
        got = Metrics.compute_groups(scores, relevance, OF_HITS, ids=form)
        assert_identical(got, expected)


@pytest.mark.parametrize(
    "ids",
    [
        [2**64 - 1, 2**64 - 2, -1],
        [2**53, 2**53 + 1, 0.5],
        ["a\0", "a", ""],
        [(1, 2), (1, 3), (2,)],
        [np.int64(1), 2, np.int32(3)],
    ],
    ids=["large", "large and a float", "zero bytes", "tuples", "numbers of NumPy"],
)
def test_ids_that_an_array_would_not_tell_apart(ids):
    got = Metrics.compute_groups([1.0, 2, 3, 4], [1, 1, 0, 1], "hit@1", ids=[*ids, ids[0]])
    np.testing.assert_array_equal(got["hit@1"], [1, 1, math.nan])


def test_text_of_numpy_is_the_same_id_as_other_text():
    got = Metrics.compute_groups([1.0, 2, 3], [1, 1, 0], "mrr", ids=["b", np.str_("a"), "a"])
    assert got["mrr"].tolist() == [1, 1 / 2]


def test_series_and_tensors():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    expected = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=IDS)["mrr"].tolist()
    series = [pd.Series(each) for each in (SCORES, RELEVANCE, IDS)]
    for ids in (series[2], series[2].astype("category")):
        got = Metrics.compute_groups(*series[:2], "mrr", ids=ids)["mrr"]
        assert got.tolist() == expected


def test_ids_of_dask():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    expected = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=IDS)["mrr"].tolist()
    ids = da.from_array(np.array(IDS))
    for column in (ids, ids[ids == ids]):  # the length of the second is unknown
        got = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=column)["mrr"]
        assert got.tolist() == expected


@pytest.mark.parametrize("names", [[7, 5], ["q7", "q5"]], ids=["numbers", "text"])
def test_ids_of_pyarrow(names):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    expected = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=IDS)["mrr"].tolist()
    column = pa.array([names[0], names[1], names[0], names[1], names[0]])
    for ids in (column, column.dictionary_encode(), pa.chunked_array([column[:2], column[2:]])):
        got = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=ids)["mrr"]
        assert got.tolist() == expected
    with pytest.raises(InputError, match=r"^ids has no group in row 1; "):
        Metrics.compute_groups([2.0, 1], [1, 0], "mrr", ids=pa.array([names[0], None]))
    with pytest.raises(InputError, match=r"^ids has no group in row 1; "):
        Metrics.compute_groups([2.0, 1], [1, 0], "mrr", ids=list(pa.array([names[0], None])))


def test_a_list_of_tensors_of_one_number_has_the_groups_of_the_numbers():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    expected = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=IDS)["mrr"].tolist()
    numbers = torch.tensor([1, 0, 1, 0, 1])
    for ids in (list(numbers), list(numbers[:, None])):  # as list.extend(batch_of_ids) makes it
        got = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=ids)["mrr"]
        assert got.tolist() == expected


def test_ids_may_be_a_tensor_that_numpy_refuses():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    expected = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=IDS)["mrr"].tolist()
    numbers = torch.tensor([1.5, 0, 1.5, 0, 1.5])
    for ids in (numbers.bfloat16(), numbers.clone().requires_grad_()):
        got = Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=ids)["mrr"]
        assert got.tolist() == expected
    with pytest.raises(InputTypeError, match=r"^ids is on the device meta, "):
        Metrics.compute_groups(SCORES, RELEVANCE, "mrr", ids=numbers.to("meta"))


@pytest.mark.parametrize("library", ["torch", "polars"])
def test_ids_of_several_numbers_are_refused(library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    if library == "torch":
        ids = [module.tensor([1, 2])] * 3
    else:
        ids = module.Series([[1, 2]] * 3, dtype=module.Array(module.Int64, 2))
    with pytest.raises(ShapeError, match=r"^ids must be 1-d, .*\[1, 2\]\)? in the first row$"):
        Metrics.compute_groups([3.0, 2, 1], [1, 0, 1], "mrr", ids=ids)


@pytest.mark.parametrize("dtype", ["string", "Int64", "category"])
def test_a_missing_id_of_pandas(dtype):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    ids = pd.Series([1, 1, None], dtype="Int64").astype(dtype)
    with pytest.raises(InputError, match=r"^ids has no group in row 2; expected an id for each "):
        Metrics.compute_groups([3.0, 2, 1], [1, 0, 1], "mrr", ids=ids)


def test_no_groups():
    for cut in ({"sizes": []}, {"ids": []}, {"sizes": np.empty(0, np.int64)}):
        assert Metrics.compute_groups([], [], "mrr", **cut)["mrr"].tolist() == []
    assert (
        np.isnan(Metrics.compute_groups([], [], "mrr", sizes=[0, 0])["mrr"]).tolist() == [True] * 2
    )


def test_nothing_is_changed():
    given = [np.array(each) for each in (SCORES, RELEVANCE, IDS)]
    for array in given:
        array.flags.writeable = False
    got = Metrics.compute_groups(*given[:2], "mrr", ids=given[2])["mrr"]
    assert got.tolist() == [1 / 2, 1 / 2]


OK = {"sizes": [2, 3]}


@pytest.mark.parametrize(
    ("error", "message", "changed"),
    [
        (ArgumentError, "or ids= (the group of each row), got neither; give one", {"sizes": None}),
        (ArgumentError, "or ids= (the group of each row), got both; give one", {"ids": IDS}),
        (ShapeError, "sizes add up to 4 rows, expected 5, as in scores", {"sizes": [2, 2]}),
        (
            ShapeError,
            "sizes add up to 7 rows, expected 5, as in scores; for the group of each row give ids=",
            {"sizes": [1, 1, 1, 2, 2]},
        ),
        (InputError, "sizes must be >= 0, got -1 for group 1", {"sizes": [6, -1]}),
        (
            InputError,
            "relevance must hold relevances from 0 to 1e+100, got -inf in row 1",
            {"relevance": [0, -np.inf, 1, 0, 0], "convention": "trec"},
        ),
        (
            InputTypeError,
            "sizes must be 1-d integers, the number of rows of each group, got 1-d of dtype "
            "float64",
            {"sizes": [2.0, 3.0]},
        ),
        (ShapeError, "ids has 2 rows, expected 5, as in scores", {"sizes": None, "ids": [1, 2]}),
        (
            InputTypeError,
            "ids has int and str, which cannot be compared; expected ids of one type; type "
            "[str(each) for each in ids]",
            {"sizes": None, "ids": [1, "1", 2, 2, 2]},
        ),
        (
            InputTypeError,
            "ids must be an array or a list, the group of each row, got set",
            {"sizes": None, "ids": {1, 2, 3, 4, 5}},
        ),
        (
            InputTypeError,
            "ids must be an array or a list, the group of each row, got dict",
            {"sizes": None, "ids": {0: "b", 1: "a", 2: "b", 3: "a", 4: "b"}},
        ),
        (
            InputError,
            "ids has no group in row 4; expected an id for each row",
            {"sizes": None, "ids": np.ma.array([1, 1, 2, 2, 2], mask=[0, 0, 0, 0, 1])},
        ),
        (
            ShapeError,
            "ids must be 1-d, the group of each row, got [1] in the first row",
            {"sizes": None, "ids": [[1]] * 5},
        ),
        (
            ShapeError,
            "ids must be 1-d, the group of each row, got shape (5, 1)",
            {"sizes": None, "ids": np.ones((5, 1))},
        ),
        (
            ShapeError,
            "ids must be 1-d, the group of each row, got shape ()",
            {"sizes": None, "ids": np.array(5)},
        ),
        (
            InputError,
            "relevance must hold relevances from 0 to 1e+100, got inf in row 1",
            {"relevance": np.array([0, np.inf, 1, 0, 0], np.float32)},
        ),
        (
            InputError,
            "ids has no group in row 1; expected an id for each row",
            {"sizes": None, "ids": ["a", None, "b", "b", "b"]},
        ),
        (
            ShapeError,
            "relevance has 4 rows, expected 5, as in scores",
            {"relevance": RELEVANCE[:4]},
        ),
        (
            ShapeError,
            "scores must be 1-d, one number for each row, got shape (5, 1); type np.ravel(scores)",
            {"scores": np.zeros((5, 1))},
        ),
        (
            ShapeError,
            "scores must be 1-d, one number for each row, got shape (2, 5); for a matrix users x "
            "items use Metrics.compute",
            {"scores": np.zeros((2, 5))},
        ),
        (
            NaNScoreError,
            "scores hold 2 NaN, the first in row 1; expected numbers, -inf for a row that was "
            "not retrieved; give nan='exclude' to treat NaN like a score of -inf",
            {"scores": [1, math.nan, 2, math.nan, 3]},
        ),
        (
            UndefinedMetricError,
            "mrr is undefined: 1 of 2 groups has no relevant item, the first is group 'a'",
            {"sizes": None, "ids": IDS, "relevance": [1, 0, 0, 0, 0], "undefined": "raise"},
        ),
        (
            UndefinedMetricError,
            "mrr is undefined: 1 of 2 groups has no relevant item, the first is group '2020-01-01T",
            {
                "sizes": None,
                "ids": np.array(["2020-01-01"] * 2 + ["2020-01-02"] * 3, "M8[ns]"),
                "relevance": [0, 0, 0, 0, 1],
                "undefined": "raise",
            },
        ),
    ],
)
def test_mistakes(error, message, changed):
    given = {"scores": SCORES, "relevance": RELEVANCE, "metrics_list": "mrr", **OK}
    with pytest.raises(error, match=re.escape(message)):
        Metrics.compute_groups(**given | changed)
    Metrics.compute_groups(**given)


def test_sizes_that_fall_are_not_taken_for_the_rows_where_groups_begin():
    with pytest.raises(ShapeError, match=r"^sizes add up to 9 rows, expected 5, as in scores$"):
        Metrics.compute_groups(SCORES, RELEVANCE, "mrr", sizes=[0, 3, 1, 5])


def test_the_rules_of_learning_to_rank_libraries():
    """Group 1 has no relevant row: 1 for LightGBM and XGBoost; gains are 2^relevance - 1."""
    scores, relevance, sizes = [2.0, 1.0, 3.0], [1, 2, 0], [2, 1]
    dcg, ideal = 1 + 3 / math.log2(3), 3 + 1 / math.log2(3)
    for convention in ("lightgbm", "xgboost"):
        got = Metrics.compute_groups(
            scores, relevance, "ndcg@2", sizes=sizes, convention=convention
        )
        np.testing.assert_allclose(got["ndcg@2"], [dcg / ideal, 1.0], rtol=1e-15)


def test_a_relevant_row_that_was_not_retrieved_has_the_score_of_minus_infinity():
    """One of two relevant rows is found, at rank 1: ndcg is 1 / (1 + 1 / log2(3)), not 1."""
    found = Metrics.compute_groups([0.9, 0.4], [1, 0], ["ndcg@10", "recall@10"], sizes=[2])
    assert [values.tolist() for values in found.values()] == [[1.0], [1.0]]
    metrics = ["ndcg@10", "recall@10"]
    both = Metrics.compute_groups([0.9, -math.inf, 0.4], [1, 1, 0], metrics, sizes=[3])
    assert both["ndcg@10"] == pytest.approx([1 / (1 + 1 / math.log2(3))])
    assert both["ndcg@10"].round(3).tolist() == [0.613]
    assert both["recall@10"].tolist() == [0.5]
    ranked = Metrics.compute_ranked([[0, 2]], [[0, 1]], metrics)  # the same as a list
    assert ranked["ndcg@10"].tolist() == both["ndcg@10"].tolist()


@pytest.mark.parametrize("relevance", [[1, 0, 0], [2, 1, 0, 0]])
def test_a_relevant_row_that_stands_first_and_wins_ties_is_warned_of(relevance):
    """Of 20 groups, the others have scores of their own; so has the last row of each."""
    n_rows = len(relevance)
    scores = np.tile(np.arange(float(n_rows)), (20, 1))

    def compute(**changed):
        given = {"scores": scores.ravel(), "relevance": np.tile(relevance, 20)}
        given |= {"sizes": [n_rows] * 20, "metrics_list": "mrr"}
        Metrics.compute_groups(**given | changed)

    compute()  # no ties
    scores[3, -1] = scores[3, 0]
    with pytest.warns(RecmetricsWarning) as caught:
        compute()
    assert str(caught[0].message).startswith("in 1 of 20 groups, other rows have the score of the ")
    assert caught[0].message.argument == "scores"
    with pytest.warns(RecmetricsWarning, match="^in 1 of 20 groups"):
        compute(sizes=None, ids=np.repeat(np.arange(20), n_rows))

    compute(ties="expected")
    compute(ties="index")  # as asked for
    compute(metrics_list="auc@2")  # which has no mean over orders
    compute(relevance=np.tile(relevance, 20)[::-1].copy())
    missed = np.where(np.arange(n_rows) % (n_rows - 1) == 0, -math.inf, scores)
    compute(scores=missed.ravel())  # first and last are in no list
    few = {"scores": scores[:9].ravel(), "sizes": [n_rows] * 9}
    compute(relevance=np.tile(relevance, 9), **few)
    scores[3, -1] = n_rows
    scores[3, : np.count_nonzero(relevance)] = 0.0
    compute()  # ties of relevant rows alone


def test_one_group_of_many_that_has_a_tie_is_not_warned_of():
    scores = np.arange(202.0)
    scores[1] = scores[0]
    Metrics.compute_groups(scores, np.tile([1, 0], 101), "mrr", sizes=[2] * 101)


def test_series_of_rows_need_one_index():
    """A column that is sorted alone keeps the numbers of its rows, but not their places."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pd.DataFrame({"query": [*"aabb"], "label": [1, 0, 0, 1], "score": [0.9, 0.1, 0.2, 0.8]})

    def mrr(table, score):
        return Metrics.compute_groups(score, table["label"], "mrr", ids=table["query"])["mrr"]

    turned = table[::-1]
    for rows in (table, turned):
        assert mrr(rows, rows["score"]).tolist() == [1, 1]
        assert mrr(rows, rows["score"].to_numpy()).tolist() == [1, 1]
    assert message_of(InputError, mrr, table, turned["score"]) == (
        "relevance and scores are Series whose indexes differ, but both are read by position; "
        "expected one row for each, in one order: columns of one table"
    )
