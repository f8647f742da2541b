"""RecListAnalysis: LensKit's shape and numbers, for pandas, polars and pyarrow alike."""

import copy
import decimal
import json
import math
import pickle
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from asserts import message_of, python
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import as_a_new_process, in_python, parse
from tables_problems import (
    EVERY_KIND,
    KINDS,
    lenskit,
    lenskit_at_ranks,
    lists_of,
    make,
    read,
    truth_of,
)

pytest.importorskip("narwhals", reason="narwhals is not installed")

from recmetrics import (
    ArgumentError,
    MetricSpecError,
    RecmetricsWarning,
    UndefinedMetricError,
    UnknownMetricError,
    UnknownOptionError,
    tables,
)
from recmetrics.tables import RecListAnalysis, evaluate_table, hit
from recmetrics.tables._numbering import combine, number

OTHER = json.loads((Path(__file__).parents[1] / "goldens" / "other.json").read_text())
FRAMES = [case for case in OTHER if case["family"] == "reclist"]
assert len(FRAMES) == 3  # else no golden is asked
LEAVES_OUT = pytest.mark.filterwarnings(
    "ignore:missing. .* lists? for users of the truth|"
    ".* users? of the truth without recommendations"
)
FUNCTIONS = ("precision", "recall", "hit", "recip_rank", "dcg", "ndcg")


def analysis_of(*metrics, group_cols=None):
    analysis = RecListAnalysis(group_cols)
    for metric in metrics:
        analysis.add_metric(metric)
    return analysis


def computed(metrics, recs, truth, *, kind="pandas", group_cols=None, **options):
    analysis = analysis_of(*metrics, group_cols=group_cols)
    return read(analysis.compute(make(kind, recs), make(kind, truth), **options))


def test_the_work_that_follows_counts_before_ids_are_numbered():
    """Left to Python, numbering would take half of the time of every process."""
    with as_a_new_process() as process:
        number(np.arange(1_500_000) % 10)
    assert process.is_large


def test_columns_are_combined_beyond_the_largest_integer():
    """2^40 by 2^40 has no place in 64 bits: what came before is numbered anew."""
    large = 1 << 40
    columns = [np.array([0, large, large, 0, large]), np.array([large, 0, large, large, 0])]
    numbers, first = number(combine(columns))
    assert (numbers.tolist(), first.tolist()) == ([0, 1, 2, 0, 1], [0, 1, 2])


# --- LensKit -------------------------------------------------------------------------------------


@EVERY_KIND
@pytest.mark.parametrize("case", FRAMES, ids=lambda case: case["id"])
def test_golden(case, kind):
    metrics = [getattr(tables, name) for name in case["params"]["metrics"]]
    got = computed(
        metrics,
        case["inputs"]["recs"],
        case["inputs"]["truth"],
        kind=kind,
        group_cols=case["params"]["group_cols"],
        include_missing=case["params"]["include_missing"],
    )
    keys, expected = case["expected"]["index_names"], case["expected"]["columns"]
    assert list(got)[: len(keys) + 1] == [*keys, "nrecs"]
    rows = [list(row) for row in zip(*(got[key] for key in keys), strict=True)]
    for name, values in expected.items():
        for key, value in zip(case["expected"]["index"], values, strict=True):
            row = rows.index(key)
            got_value = math.nan if got[name][row] is None else got[name][row]
            np.testing.assert_allclose(got_value, float(value), rtol=0, atol=case["tol"])
    assert len(rows) == len(case["expected"]["index"])


ITEMS = st.lists(st.integers(0, 9), unique=True, max_size=8)


@settings(deadline=None)
@given(
    listed=st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(0, 4)), ITEMS),
    relevant=st.dictionaries(
        st.integers(0, 6), st.dictionaries(st.integers(0, 9), st.integers(0, 5))
    ),
    k=st.none() | st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_every_function_is_its_definition(listed, relevant, k, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for (model, user), items in listed.items():
        ranks = np.cumsum(rng.integers(1, rng.integers(2, 5), len(items)))  # with gaps, or none
        rows += [
            {"model": model, "user": f"u{user}", "item": item, "rank": int(rank), "score": -rank}
            for rank, item in zip(ranks, items, strict=True)
        ]
    rng.shuffle(rows)
    recs = {name: [row[name] for row in rows] for name in ("model", "user", "item")}
    order = rng.choice(["rank", "score", ""])
    if order:
        recs[order] = [float(row[order]) for row in rows]
    pairs = [(f"u{u}", i, float(r)) for u, items in relevant.items() for i, r in items.items()]
    rng.shuffle(pairs)
    truth = {
        "user": [str(pair[0]) for pair in pairs],
        "item": [int(pair[1]) for pair in pairs],
        "rating": [float(pair[2]) for pair in pairs],
    }
    if not rows or not pairs:
        return
    analysis = RecListAnalysis()
    options = {name: {} if name == "dcg" else {"k": k} for name in FUNCTIONS}
    for name in FUNCTIONS:
        analysis.add_metric(getattr(tables, name), **options[name])
    for kind in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecmetricsWarning)
            got = read(analysis.compute(make(kind, recs), make(kind, truth)))
        expected = lists_of(recs, ["model", "user"])
        assert list(zip(got["model"], got["user"], strict=True)) == list(expected)
        assert got["nrecs"] == [len(rows) for rows in expected.values()]
        for name, k_of in options.items():
            values = []
            for (_, user), places in expected.items():
                items, own = [recs["item"][r] for r in places], truth_of(truth, {"user": user})
                if order == "rank":
                    ranked = list(zip([recs["rank"][r] for r in places], items, strict=True))
                    values.append(lenskit_at_ranks(name, ranked, own, **k_of))
                else:
                    values.append(lenskit(name, items, own, **k_of) if own else math.nan)
            np.testing.assert_allclose(got[name], values, rtol=1e-12, err_msg=name)


@EVERY_KIND
def test_a_truth_of_ratings_of_0_has_no_gains(kind):
    recs = make(kind, {"user": ["u"], "item": [0], "rank": [1]})
    truth = make(kind, {"user": ["u"], "item": [0], "rating": [0.0]})
    of_one = [make(kind, {"item": [0]}), make(kind, {"item": [0], "rating": [0.0]})]
    assert tables.dcg(*of_one) == 0.0
    analysis = RecListAnalysis()
    analysis.add_metric(tables.dcg)
    analysis.add_metric("cg@1")
    got = read(analysis.compute(recs, truth))
    assert (got["dcg"], got["cg@1"]) == ([0.0], [0.0])
    with pytest.raises(UndefinedMetricError, match=r"^dcg@1 is undefined: 1 of 1 lists has"):
        tables.evaluate_table(recs, truth, "dcg@1", undefined="raise")


@EVERY_KIND
def test_the_functions_take_the_tables_of_one_list(kind):
    recs = make(kind, {"item": ["a", "b", "c"]})
    truth = make(kind, {"item": ["c", "d", "e", "b"], "rating": [1.0, 2.0, 4.0, 3.0]})
    assert tables.precision(recs, truth) == 2 / 3
    assert tables.precision(recs, truth, k=2) == 1 / 2
    assert tables.recall(recs, truth) == 2 / 4
    assert tables.recall(recs, truth, k=2) == 1 / 2
    assert (tables.hit(recs, truth), tables.hit(recs, truth, k=1)) == (1.0, 0.0)
    assert tables.recip_rank(recs, truth) == 1 / 2
    dcg = 3 / 1 + 1 / math.log2(3)
    assert tables.dcg(recs, truth) == pytest.approx(dcg, abs=1e-12)
    ideal = 4 / 1 + 3 / 1 + 2 / math.log2(3) + 1 / math.log2(4)
    assert tables.ndcg(recs, truth) == pytest.approx(dcg / ideal, abs=1e-12)
    assert tables.ndcg(recs, truth, k=2) == pytest.approx(3 / (4 + 3), abs=1e-12)


def test_the_functions_take_a_truth_indexed_by_item_and_an_empty_list():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    recs = pd.DataFrame({"item": [2, 3]})
    truth = pd.DataFrame({"rating": [4.0, 1.0]}, index=[3, 5])
    assert tables.dcg(recs, truth) == 4.0
    assert tables.ndcg(recs, truth) == 4 / 5
    nothing = recs.iloc[:0]
    got = [getattr(tables, name)(nothing, truth) for name in FUNCTIONS]
    np.testing.assert_array_equal(got, [math.nan, 0, 0, 0, 0, 0])
    got = [getattr(tables, name)(recs, truth.iloc[:0]) for name in FUNCTIONS]
    np.testing.assert_array_equal(got, [0, math.nan, math.nan, 0, 0, math.nan])


def test_an_item_rated_0_is_relevant_to_lenskit_and_not_to_a_metric_string():
    recs = {"user": [1, 1], "item": [7, 8]}
    truth = {"user": [1, 1], "item": [7, 9], "rating": [0.0, 0.0]}
    got = computed([tables.precision, tables.recall, tables.ndcg, "precision@2"], recs, truth)
    values = [got[name][0] for name in ("precision", "recall", "ndcg", "precision@2")]
    np.testing.assert_array_equal(values, [1 / 2, 1 / 2, math.nan, math.nan])


def test_a_discount_is_a_divisor_that_counts_as_1_below_1():
    recs = {"user": [1, 1, 1], "item": [7, 8, 9]}
    truth = {"user": [1, 1], "item": [8, 9], "rating": [3.0, 2.0]}
    analysis = RecListAnalysis()
    analysis.add_metric(tables.dcg, name="usual", discount=lambda rank: np.log2(rank + 1))
    analysis.add_metric(tables.dcg, name="halves", discount=lambda rank: rank / 2)
    analysis.add_metric(tables.dcg, name="thirds", discount=lambda _: 3)
    analysis.add_metric(tables.ndcg, name="cut", discount=lambda rank: math.log2(rank + 1), k=2)
    got = read(analysis.compute(make("pandas", recs), make("pandas", truth)))
    assert got["usual"][0] == pytest.approx(3 / math.log2(3) + 2 / math.log2(4), abs=1e-12)
    assert got["halves"][0] == pytest.approx(3 / 1 + 2 / 1.5, abs=1e-12)
    assert got["thirds"][0] == pytest.approx((3 + 2) / 3, abs=1e-12)
    ideal = 3 / math.log2(2) + 2 / math.log2(3)
    assert got["cut"][0] == pytest.approx(3 / math.log2(3) / ideal, abs=1e-12)


# --- Metrics -------------------------------------------------------------------------------------

RECS = {"user": [1, 1, 1, 2, 2], "item": [7, 8, 9, 8, 7], "rank": [1, 2, 3, 1, 2]}
TRUTH = {"user": [1, 1, 2], "item": [8, 5, 7], "rating": [2.0, 1.0, 3.0]}


def test_metric_strings_with_their_options_beside_them():
    analysis = RecListAnalysis()
    analysis.add_metric("mrr@1")
    analysis.add_metric("recall", k=2, denom="relevant", name="textbook")
    analysis.add_metric("dcg(gain=exp2)", discount="ln")
    analysis.add_metric(parse("hit@2"))
    got = read(analysis.compute(make("pandas", RECS), make("pandas", TRUTH)))
    assert list(got) == ["user", "nrecs", "mrr@1", "textbook", "dcg(gain=exp2)", "hit@2"]
    assert got["mrr@1"] == [0.0, 0.0]
    assert got["textbook"] == [1 / 2, 1 / 1]
    gains = [(2**2 - 1) / math.log(3), (2**3 - 1) / math.log(3)]
    np.testing.assert_allclose(got["dcg(gain=exp2)"], gains, rtol=1e-12)
    assert got["hit@2"] == [1.0, 1.0]


@EVERY_KIND
def test_a_callable_gets_the_tables_of_each_list(kind):
    seen = []

    def grade(recs, truth, factor=1):
        seen.append((recs, truth))
        return None if len(truth) == 1 else factor * len(recs)

    analysis = RecListAnalysis()
    analysis.add_metric(grade, factor=2)
    recs = {"user": [1, 2, 1, 3], "item": [7, 8, 9, 7], "score": [0.1, 5.0, 0.2, 1.0]}
    truth = make(kind, TRUTH)
    got = read(analysis.compute(make(kind, recs), truth, include_missing=True))
    np.testing.assert_array_equal(got["grade"], [2 * 2, math.nan, math.nan])  # 3 has no truth
    assert len(seen) == 2
    listed, relevant = seen[0]
    assert type(listed) is type(truth)
    assert type(relevant) is type(truth)
    assert read(listed)["item"] == [9, 7]  # in list order
    if kind == "pandas":
        assert relevant.index.name == "item"
        assert relevant.rating.to_dict() == {5: 1.0, 8: 2.0}
    else:
        assert sorted(read(relevant)["item"]) == [5, 8]


def test_a_callable_is_not_called_for_missing_lists_which_are_undefined():
    def grade(recs, truth):
        return 1.0 + len(recs) + len(truth)

    got = computed([grade], {"user": [1], "item": [7]}, TRUTH, include_missing=True)
    np.testing.assert_array_equal(got["grade"], [1.0 + 1 + 2, math.nan])


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (("ndgc@10", {}), UnknownMetricError, "did you mean 'ndcg@10'?"),
        (("ndcg", {"gian": "exp2"}), UnknownOptionError, "did you mean 'gain'?"),
        (("ndcg@10", {"k": 5}), ArgumentError, "ndcg@10 has k in the string already"),
        (("dcg(gain=exp2)", {"gain": "linear"}), ArgumentError, "has gain in the string already"),
        ((10, {}), MetricSpecError, "must be a string or a callable of (recs, truth), got 10"),
        ((tables.ndcg, {"K": 5}), ArgumentError, "ndcg takes discount, k"),
        ((tables.ndcg, {"discount": "log2"}), ArgumentError, "must be a callable of the rank"),
        ((tables.hit, {"k": 0}), ArgumentError, "k must be an integer >= 1"),
        (("coverage@10", {}), ArgumentError, "coverage@10 needs catalogue=; type tables.evaluate"),
        (("novelty@10", {}), ArgumentError, "novelty@10 needs popularity=; type tables.evaluate"),
        (("recall(of=tail)@2", {}), ArgumentError, "recall(of=tail)@2 needs strata=; type tables."),
        (("recall(weigh=ips)@2", {}), ArgumentError, "recall(weigh=ips)@2 needs propensity=; type"),
        (("hit@2", {"name": "nrecs"}), ArgumentError, "there is a column 'nrecs' already"),
        (("mrr", {}), ArgumentError, "there is a column 'mrr' already; give another"),
    ],
)
def test_what_cannot_be_added_is_refused(arguments, error, message):
    metric, options = arguments
    analysis = analysis_of("mrr")
    assert message in message_of(error, analysis.add_metric, metric, **options)


# --- Lists ---------------------------------------------------------------------------------------


def test_rank_comes_before_score_and_score_before_the_order_of_the_rows():
    recs = {"user": [1, 1, 1], "item": [7, 8, 9]}
    truth = {"user": [1], "item": [8]}
    ranks, scores = {"rank": [3, 1, 2]}, {"score": [5.0, 1.0, 3.0]}
    assert computed(["mrr"], recs, truth)["mrr"] == [1 / 2]
    assert computed(["mrr"], recs | scores, truth)["mrr"] == [1 / 3]
    assert computed(["mrr"], recs | scores | ranks, truth)["mrr"] == [1 / 1]


def test_a_function_of_a_list_without_an_item_to_rank_k_has_no_value():
    analysis = RecListAnalysis()
    analysis.add_metric(hit, k=1)
    recs = make("pandas", {"user": [1, 2], "item": [7, 7], "rank": [2, 1]})
    got = analysis.compute(recs, recs[["user", "item"]], rank_gaps="keep")
    np.testing.assert_array_equal(got["hit"], [math.nan, 1.0])


@pytest.mark.parametrize("length", [3, 40])
def test_equal_scores_keep_the_order_of_the_rows(length):
    scores = [0.0] * (length - 1) + [1.0]
    recs = {"user": [1] * length, "item": list(range(length)), "score": scores}
    for item, rank in ((length - 1, 1), (0, 2), (length - 2, length)):
        got = computed(["mrr"], recs, {"user": [1], "item": [item]})
        assert got["mrr"] == [1 / rank]


def exact_numbers(kind):
    """Columns of three numbers a < b < c whose values are one in float64, by their types."""
    beyond, largest = [2**60, 2**60 + 1, 2**60 + 2], [2**64 - 3, 2**64 - 2, 2**64 - 1]
    decimals = [decimal.Decimal(f"0.{10**20 + digit}") for digit in (1, 2, 3)]
    library = pytest.importorskip(kind, reason=f"{kind} is not installed")
    if kind == "pandas":
        typed = {np.int64: beyond, "Int64": beyond, np.uint64: largest, "UInt64": largest}
        found = {dtype: library.Series(values, dtype=dtype) for dtype, values in typed.items()}
        arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        found["decimal"] = library.Series(library.arrays.ArrowExtensionArray(arrow.array(decimals)))
        return found
    if kind == "pyarrow":
        found = {"int64": library.array(beyond), "decimal": library.array(decimals)}
        return found | {"uint64": library.array(largest, library.uint64())}
    wide = {
        name: getattr(library, name) for name in ("Int128", "UInt128") if hasattr(library, name)
    }
    typed = dict.fromkeys([library.Int64, library.UInt64, *wide.values()], beyond)
    typed |= {library.UInt64: largest, library.Decimal(None, 21): decimals}
    return {dtype: library.Series(values, dtype=dtype) for dtype, values in typed.items()}


@EVERY_KIND
def test_the_order_of_numbers_beyond_float64_is_exact(kind):
    for dtype, numbers in exact_numbers(kind).items():
        for item, rank in ((7, 1), (8, 2), (9, 3)):
            truth = make(kind, {"user": [1], "item": [item]})
            recs = make(kind, {"user": [1, 1, 1], "item": [7, 8, 9], "rank": numbers})
            got = read(analysis_of("mrr").compute(recs, truth, rank_gaps="close"))
            assert got["mrr"] == [1 / rank], dtype
            recs = make(kind, {"user": [1, 1, 1], "item": [7, 8, 9], "score": numbers})
            got = read(analysis_of("mrr").compute(recs, truth))
            assert got["mrr"] == [1 / (4 - rank)], dtype


@EVERY_KIND
def test_decimals_are_not_read_as_objects_of_python(kind):
    """These took twenty times as long; each has a hundred bytes."""
    n = 3_000
    columns = {str(dtype)[:7].lower(): column for dtype, column in exact_numbers(kind).items()}
    take = getattr(columns["decimal"], "gather" if kind == "polars" else "take")
    truth = make(kind, {"user": [1], "item": [1]})

    def peak_of(scores):
        recs = make(kind, {"user": range(n), "item": range(n), "score": scores})
        tracemalloc.start()
        with in_python():  # to compile takes memory, too
            evaluate_table(recs, truth, "mrr")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    peak_of([0.5] * n)  # imports take memory
    assert peak_of(take(np.arange(n) % 3)) - peak_of([0.5] * n) < 50 * n


@EVERY_KIND
def test_scores_beyond_float64_of_both_signs(kind):
    scores = [-(2**62) - 1, 2**62 + 1, -(2**62), 0, 2**62]
    recs = {"user": [1] * 5, "item": [0, 1, 2, 3, 4], "score": scores}
    for item, rank in ((1, 1), (4, 2), (3, 3), (2, 4), (0, 5)):
        got = computed(["mrr"], recs, {"user": [1], "item": [item]}, kind=kind)
        assert got["mrr"] == [1 / rank]


@LEAVES_OUT
def test_the_truth_is_matched_on_the_columns_that_it_has():
    recs = {"fold": [0, 1, 0], "user": ["x", "x", "y"], "item": [1, 1, 2], "model": list("AAB")}
    by_user = {"user": ["x", "y"], "item": [1, 9], "fold_of_truth": [0, 0]}
    by_both = {"fold": [0, 1, 0], "user": ["x", "x", "y"], "item": [1, 3, 2]}
    got = computed(["hit"], recs, by_user)
    assert list(got) == ["fold", "model", "user", "nrecs", "hit"]  # as LensKit has them
    assert got["hit"] == [1.0, 1.0, 0.0]
    assert computed(["hit"], recs, by_both)["hit"] == [1.0, 0.0, 1.0]
    recs |= {"item": [1, 4, 2]}
    got = computed(["hit"], recs, by_user, group_cols=["user"])
    assert (got["user"], got["nrecs"], got["hit"]) == (["x", "y"], [2, 1], [1.0, 0.0])


@EVERY_KIND
def test_missing_users_get_rows_for_every_model(kind):
    recs = {"model": ["A", "A", "B"], "user": [1, 2, 1], "item": [7, 7, 7]}
    truth = {"user": [3, 1, 2, 3], "item": [7, 7, 8, 9]}
    analysis = analysis_of("hit", tables.precision)
    got = read(analysis.compute(make(kind, recs), make(kind, truth), include_missing=True))
    assert list(got) == ["model", "user", "nrecs", "hit", "precision", "ntruth"]
    assert got["model"] == ["A", "A", "B", "A", "B", "B"]
    assert got["user"] == [1, 2, 1, 3, 2, 3]
    assert got["nrecs"] == [1, 1, 1, 0, 0, 0]
    assert got["ntruth"] == [1, 1, 1, 2, 1, 2]
    missing = [math.nan] * 3  # as LensKit has them
    np.testing.assert_array_equal(got["hit"], [1.0, 0.0, 1.0, *missing])
    np.testing.assert_array_equal(got["precision"], [1.0, 0.0, 1.0, *missing])
    assert analysis.summary.n_missing == 3


def test_the_summary_counts_who_has_no_list_and_who_has_no_truth():
    analysis = analysis_of("hit@1", tables.recall)
    with pytest.raises(ArgumentError, match="call that first"):
        analysis.summary  # noqa: B018
    recs = make("pandas", {"user": [1, 5], "item": [7, 7]})
    truth = make("pandas", {"user": [1, 2, 3], "item": [7, 7, 7]})
    with pytest.warns(RecmetricsWarning) as caught:
        analysis.compute(recs, truth)
    assert str(caught[0].message) == (
        "2 users of the truth without recommendations (the first: user=2); they are left out, as "
        "in LensKit; include_missing=True gives each a row, without values, and "
        "tables.evaluate_table counts them as empty lists"
    )
    assert caught[0].filename == __file__
    assert str(analysis.summary).splitlines() == [
        "2 lists, 1 without a row in the truth; in the order of the rows",
        "2 users of the truth without recommendations (the first: user=2); they are left out; "
        "include_missing=True gives each a row",
        "hit@1   mean 1.0000 over 1 list",
        "recall  mean 1.0000 over 1 list",
    ]
    analysis.compute(recs, truth, include_missing=True)
    assert "(the first: user=2); their values are undefined" in str(analysis.summary)
    assert (analysis.summary.means["hit@1"], analysis.summary.n_defined["hit@1"]) == (1 / 1, 1)
    analysis.compute(recs, make("pandas", {"user": [5], "item": [1]}))
    assert "without recommendations" not in str(analysis.summary)
    for copied in (pickle.loads(pickle.dumps(analysis)), copy.deepcopy(analysis)):
        assert copied.summary == analysis.summary


@pytest.mark.parametrize("kind", KINDS)
def test_tables_without_a_common_id_are_warned_of(kind):
    recs = {"user": ["u-1", "u-2"], "item": ["a", "b"], "score": [1.0, 1.0]}
    for column, other in (("user", ["U1", "U2"]), ("item", ["A", "B"])):
        truth = {name: recs[name] for name in ("user", "item")} | {column: other}
        with pytest.warns(RecmetricsWarning) as caught:
            tables.evaluate_table(make(kind, recs), make(kind, truth), ["hit@1"])
        assert [str(one.message) for one in caught] == [
            f"truth, column {column!r}: no id of recs occurs here; recs begins with "
            f"{recs[column][0]!r}, truth with {other[0]!r}; are the ids written in two ways?"
        ]
    one_in_common = {"user": ["u-1", "U2"], "item": ["A", "a"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables.evaluate_table(make(kind, recs), make(kind, one_in_common), ["hit@1"])


@EVERY_KIND
def test_tables_may_be_empty(kind):
    pytest.importorskip(kind, reason=f"{kind} is not installed")
    table, other = make(kind, RECS), make(kind, TRUTH)
    no_recs, no_truth = table[:0], other[:0]
    analysis = analysis_of("hit", tables.precision)
    with pytest.warns(RecmetricsWarning, match="2 users of the truth without recommendations"):
        assert read(analysis.compute(no_recs, other))["user"] == []
    assert analysis.summary.n_missing == 2
    got = read(analysis.compute(no_recs, other, include_missing=True))
    assert got["user"] == [1, 2]
    np.testing.assert_array_equal(got["hit"], [math.nan, math.nan])
    got = read(tables.evaluate_table(no_recs, other, "hit"))
    assert (got["user"], got["hit"]) == ([1, 2], [0.0, 0.0])
    got = read(analysis.compute(table, no_truth))
    np.testing.assert_array_equal(got["hit"], [math.nan, math.nan])
    assert got["precision"] == [0.0, 0.0]
    assert read(analysis.compute(no_recs, no_truth, include_missing=True))["user"] == []


# --- Ids -----------------------------------------------------------------------------------------


@LEAVES_OUT
@EVERY_KIND
@pytest.mark.parametrize(
    "ids", [[-(2**61), 2**61, 0], ["a", "b", "A"], [1.5, -0.25, 3.0], [True, False, None]], ids=str
)
def test_ids_of_any_type(kind, ids):
    a, b, c = ids
    if c is None:
        recs, truth = {"user": [a, a, b], "item": [1, 2, 1]}, {"user": [a, b], "item": [2, 1]}
        assert computed(["mrr"], recs, truth, kind=kind)["mrr"] == [1 / 2, 1.0]
        return
    recs = {"user": [c, c, b, b, b], "item": [a, b, c, b, a]}
    truth = {"user": [b, c, a], "item": [a, b, c]}
    got = computed(["mrr"], recs, truth, kind=kind)
    assert (got["user"], got["mrr"]) == ([c, b], [1 / 2, 1 / 3])


def test_many_ids_that_are_far_apart():
    ids = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 5000)
    recs = {"user": np.repeat(ids, 2), "item": np.stack([ids, ids[::-1]], axis=1).ravel()}
    got = computed(["mrr"], recs, {"user": ids, "item": ids[::-1]})
    assert got["user"] == ids.tolist()
    assert got["mrr"] == [1 / 2] * 5000


# --- Purity --------------------------------------------------------------------------------------


def test_inputs_are_not_changed_and_a_pandas_index_is_not_looked_at():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    recs = pd.DataFrame(RECS, index=[5, 5, 3, 2, 1])
    truth = pd.DataFrame(TRUTH, index=list("xyz"))
    before = recs.copy(), truth.copy()
    analysis = analysis_of("mrr", tables.ndcg, lambda recs, _: len(recs))
    got = analysis.compute(recs, truth, include_missing=True)
    pd.testing.assert_frame_equal(recs, before[0])
    pd.testing.assert_frame_equal(truth, before[1])
    assert got["mrr"].tolist() == [1 / 2, 1 / 2]
    assert got["<lambda>"].tolist() == [3.0, 2.0]


def test_importing_the_package_does_not_import_narwhals():
    script = (
        "import sys, recmetrics; assert 'narwhals' not in sys.modules; "
        "import recmetrics.tables; assert 'narwhals' in sys.modules; "
        "assert not {'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    )
    python("-W", "error", "-c", script)


def test_without_narwhals_the_import_says_what_to_type():
    script = (
        "import sys; sys.modules['narwhals'] = None\n"
        "try:\n    from recmetrics import tables\n"
        "except ImportError as error:\n    print(error)"
    )
    assert python("-c", script).stdout == (
        'recmetrics.tables needs narwhals; type: pip install "narwhals>=2.9"\n'
    )
