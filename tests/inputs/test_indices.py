"""Item indices or relevances, padding, negative labels: misread by no form, and advice that works.

Each message is followed: what it says to type is applied to the same input, and gives the value
worked by hand.
"""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import message_of

from recmetrics import (
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    ShapeError,
    StreamEvaluator,
    audit,
    audit_ranked,
    identify,
)

SCORES = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
# Nearest neighbours found and true: 3 of 4 in both rows.
FOUND = np.array([[7, 2, 9, 4], [1, 3, 5, 0]])
NEIGHBOURS = np.array([[7, 9, 4, 8], [1, 0, 6, 5]])


def followed(message, **inputs):
    """The value of what each "type ..." of a message says to type."""
    calls = re.findall(r"type (?!also)(.+?)(?: if |;|,? or | for (?!items)|$)", message)
    return [eval(call, {"np": np}, inputs) for call in calls]


# --- Arrays of integers as the truth of rankings -------------------------------------------------

AMBIGUOUS = (
    "truth may hold item indices or relevances: integers of shape (2, 4); type list(truth) for "
    "indices, truth.astype(float) for relevances"
)


def stream_of(ranking, truth):
    stream = StreamEvaluator("recall@4")
    stream.update_ranked(ranking, truth)
    return stream.compute()["recall@4"].tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda truth: Metrics.compute_ranked(FOUND, truth, "recall@4")["recall@4"].tolist(),
        lambda truth: Metrics.compute_ranked(FOUND, truth, "recall@4", n_items=10, unknown="waste")[
            "recall@4"
        ].tolist(),
        lambda truth: stream_of(FOUND, truth),
        lambda truth: audit_ranked(FOUND, truth) and [0.75, 0.75],
    ],
    ids=["compute_ranked", "of n_items", "update_ranked", "audit_ranked"],
)
def test_two_arrays_of_ids(call):
    message = message_of(InputTypeError, lambda: call(NEIGHBOURS))
    assert message == AMBIGUOUS
    assert call(followed(message, truth=NEIGHBOURS)[0]) == [0.75, 0.75]


def test_a_truth_with_a_number_for_each_item_is_relevances():
    truth = np.array([[2, 0, 1]])
    got = Metrics.compute_ranked([[1, 0]], truth, "mrr", n_items=3)
    assert got["mrr"].tolist() == [0.5]
    assert Metrics.compute_ranked([[1, 0]], truth.astype(float), "mrr")["mrr"].tolist() == [0.5]
    # An item behind the last column shows that these are no relevances.
    message = message_of(
        InputTypeError, lambda: Metrics.compute_ranked([[1, 3]], truth, "mrr", n_items=3)
    )
    assert "list(truth)" in message
    assert "unknown=" not in message


@pytest.mark.parametrize(
    "truth, looks_like_indices",
    [
        ([[3], [0]], True),  # one column
        ([[1], [0]], True),
        ([[2, 1, -1], [0, -1, -1]], True),  # padded
        ([[0, 1, 0], [2, 1, 0]], False),  # two zeros
        ([[1, 0], [0, 1]], False),  # no number above 1
        ([[2, 2, 1], [0, 1, 2]], False),  # a grade twice
    ],
)
def test_which_arrays_look_like_indices(truth, looks_like_indices):
    call = lambda: Metrics.compute_ranked([[1], [0]], np.array(truth), "hit@1")  # noqa: E731
    if looks_like_indices:
        assert "list(truth)" in message_of(InputTypeError, call)
    else:
        assert call()["hit@1"].tolist() == [float(truth[0][1] > 0), float(truth[1][0] > 0)]


def test_an_evaluator_says_it_where_an_id_is_beyond_its_width():
    evaluator = Evaluator(NEIGHBOURS, "recall@4")
    for options in ({}, {"unknown": "waste"}):
        call = lambda options=options: evaluator.update_ranked(FOUND, **options)  # noqa: E731
        assert message_of(InputTypeError, call) == AMBIGUOUS
    evaluator = Evaluator(list(NEIGHBOURS), "recall@4", n_items=10)
    evaluator.update_ranked(FOUND)
    assert evaluator.compute()["recall@4"].tolist() == [0.75, 0.75]
    # Of relevances, one of 4 is found in the first row, two of three in the second.
    evaluator = Evaluator(NEIGHBOURS.astype(float), "recall@4")
    evaluator.update_ranked(FOUND, unknown="waste")
    assert evaluator.compute()["recall@4"].tolist() == [1 / 4, 2 / 3]


def test_a_tensor_of_ids():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    truth = torch.tensor(NEIGHBOURS)
    message = message_of(InputTypeError, lambda: Metrics.compute_ranked(FOUND, truth, "recall@4"))
    [lists] = followed(message, truth=truth)
    assert Metrics.compute_ranked(FOUND, lists, "recall@4")["recall@4"].tolist() == [0.75, 0.75]


# --- -1 behind the last item ---------------------------------------------------------------------


def test_minus_one_ends_a_row():
    truth = list(np.array([[1, 2, -1], [-1, -1, -1]]))
    got = Metrics.compute_ranked([[2, 0], [0, 1]], truth, "recall(denom=relevant)@2", n_items=4)
    np.testing.assert_array_equal(got["recall(denom=relevant)@2"], [0.5, np.nan])
    got = Metrics.compute(SCORES, [[1], [0]], "mrr", exclude=[[0, -1], [-1, -1]])
    assert got["mrr"].tolist() == [1.0, 1.0]
    got = Metrics.compute(SCORES, [[1], [2]], "mrr", candidates=[[1, 2, -1], [2, -1]])
    assert got["mrr"].tolist() == [1.0, 1.0]
    got = Metrics.compute(SCORES, [[1], [2]], "mrr", candidates=[1, 2, -1])
    assert got["mrr"].tolist() == [1.0, 0.5]


@pytest.mark.parametrize("name", ["truth", "exclude", "candidates"])
def test_padded_nested_lists_as_wide_as_the_catalogue_are_ambiguous(name):
    sets = {"truth": [[1], [0]], name: [[1, 2, -1], [0, -1, -1]]}
    message = message_of(
        InputTypeError, lambda: Metrics.compute(SCORES, sets.pop("truth"), "hit@1", **sets)
    )
    assert message.startswith(f"{name} is ambiguous: it may hold item indices")


# --- Indices that begin at 1, and lists padded with 0 --------------------------------------------


@pytest.mark.parametrize(
    "truth", [[[1], [3, 2]], [{1}, {2, 3}], [[1, -1], [3, 2]], [1, 3]], ids=str
)
def test_indices_of_the_truth_that_begin_at_1(truth):
    message = message_of(InputError, lambda: Metrics.compute(SCORES, truth, "hit@1"))
    assert "; indices begin at 0: if these begin at 1 type " in message
    [right] = followed(message, truth=truth)
    assert Metrics.compute(SCORES, right, "hit@1")["hit@1"].tolist() == [1.0, 0.0]


def test_indices_of_rankings_that_begin_at_1():
    ranking = np.array([[3, 1], [2, -1]])
    call = lambda ranking: Metrics.compute_ranked(ranking, [[2], [0]], "mrr", n_items=3)  # noqa: E731
    message = message_of(InputError, lambda: call(ranking))
    assert "indices begin at 0" in message
    assert "unknown=" not in message
    assert call(followed(message, ranking=ranking)[0])["mrr"].tolist() == [1.0, 0.0]
    # An index far outside, or one beside 0, is not of this kind.
    for other in ([[4, 1]], [[3, 0]]):
        message = message_of(
            InputError, lambda other=other: Metrics.compute_ranked(other, [[2]], "mrr", n_items=3)
        )
        assert message.endswith("; type unknown='waste' or unknown='drop' to accept such items")


def test_lists_padded_with_0():
    ranking = np.array([[3, 0, 0], [2, 1, 3]])
    call = lambda ranking: Metrics.compute_ranked(ranking, [[3], [1]], "precision(denom=list)")  # noqa: E731
    message = message_of(InputError, lambda: call(ranking))
    assert message == (
        "ranking of user 0 names at rank 3 item 0 twice; expected each item once, and -1 after the "
        "last one; if 0 is no item type [np.trim_zeros(items, 'b') for items in ranking]"
    )
    [right] = followed(message.replace("0 is no item type", "type"), ranking=ranking)
    assert call(right)["precision(denom=list)"].tolist() == [1.0, 1 / 3]


@pytest.mark.parametrize("items", [[1, 1], [1, 1, 0], [1, 1, -1]], ids=str)
def test_repeated_events_of_a_list_are_dropped(items):
    truth = [np.array(items)]
    message = message_of(InputError, lambda: Metrics.compute([[3, 2, 1]], truth, "recall@1"))
    assert "; to drop the repeats type " in message
    assert ("np.array(truth)" in message) == (items == [1, 1, 0])  # as wide as the catalogue
    right = followed(message, truth=truth)[0]
    value = Metrics.compute([[3, 2, 1]], right, "recall@1")["recall@1"].tolist()
    assert value == [float(0 in items)]


@pytest.mark.parametrize("name", ["truth", "candidates"])
def test_nested_lists_of_0_and_1_that_are_no_matrix_by_their_width(name):
    rows = [[1, 0, 0], [1, 1, 1]]
    scores = [[4, 3, 2, 1], [1, 2, 3, 4]]

    def call(rows):
        sets = {"truth": [[0], [3]], name: rows}
        truth = sets.pop("truth")
        return Metrics.compute(scores, truth, "mrr", **sets)

    assert message_of(InputError, lambda: call(rows)) == (
        f"{name} is of shape (2, 3), expected (2, 4), if it is a matrix; as item indices, {name} "
        "of user 0 names item 0 twice; expected each item index once; to drop the repeats type "
        f"[np.unique(items) for items in {name}]"
    )
    # Other numbers, and lists of two lengths, are no matrix of 0 and 1.
    for others in ([[2, 0, 0], [1, 1, 1]], [[0, 0, 1], [1, 1]], [[0, 0, -1], [1, 1, -1]]):
        message = message_of(InputError, lambda others=others: call(others))
        assert message.startswith(f"{name} of user 0 names item 0 twice; ")


@pytest.mark.parametrize(
    "ranking, truth",
    [
        ([["a", "b"]], [[0]]),
        (np.array([["a", "b"]]), [[0]]),
        ([[0, 1]], [["a"]]),
        ([[0, 1]], np.array([["a"]])),
        ([[0, 1]], ["a"]),
    ],
)
def test_ids_of_text_name_the_tables(ranking, truth):
    message = message_of(InputTypeError, lambda: Metrics.compute_ranked(ranking, truth, "hit@1"))
    assert message.endswith(
        "; for tables of ids type recmetrics.tables.evaluate_table(recs, truth, metrics_list)"
    )


# --- Negative labels -----------------------------------------------------------------------------

LABELS = np.array([[0, -1, 1], [1, 0, -2]])
NEGATIVE = {
    "compute": lambda truth: Metrics.compute(SCORES, truth, "mrr"),
    "evaluate": lambda truth: Metrics.evaluate(SCORES, truth, "mrr"),
    "mrr_at_k": lambda truth: Metrics.mrr_at_k(SCORES, truth),
    "compute_factors": lambda truth: Metrics.compute_factors(SCORES, np.eye(3), truth, "mrr"),
    "ranks": lambda truth: Metrics.ranks(SCORES, truth),
    "ranks_factors": lambda truth: Metrics.ranks_factors(SCORES, np.eye(3), truth),
    "chance": lambda truth: Metrics.chance(truth, "mrr"),
    "ceiling": lambda truth: Metrics.ceiling(truth, "mrr"),
    "Evaluator": lambda truth: Evaluator(truth, "mrr"),
    "StreamEvaluator": lambda truth: StreamEvaluator("mrr").update(SCORES, truth),
    "audit": lambda truth: audit(SCORES, truth),
    "identify": lambda truth: identify(SCORES, truth, 0.5, "mrr"),
    "compute_ranked": lambda truth: Metrics.compute_ranked([[0], [1]], truth, "mrr"),
}
FORMS = {"array": np.asarray, "nested lists": np.ndarray.tolist, "sparse": sp.csr_array}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NEGATIVE)
def test_the_error_of_a_negative_label_names_the_ways(name, form):
    truth = FORMS[form](LABELS * [[1], [1]])
    message = message_of(InputError, lambda: NEGATIVE[name](truth))
    clip = {
        "array": "np.maximum(truth, 0)",
        "nested lists": "np.maximum(np.asarray(truth), 0)",
        "sparse": "truth.maximum(0)",
    }[form]
    assert f"got -1 at (user 0, item 1); type {clip} if it is not relevant" in message
    takes_candidates = name != "compute_ranked" and form != "sparse"
    assert ("if it is padding, type also candidates=" in message) == takes_candidates
    NEGATIVE[name](followed(message, truth=truth)[0])


def test_a_label_that_pads_is_left_out():
    # The padding has the highest score: rank 1 is taken if it is only clipped.
    truth, scores = np.array([[-1, 1, 0]]), [[3, 2, 1]]
    message = message_of(InputError, lambda: Metrics.compute(scores, truth, "mrr"))
    assert message.endswith("candidates=truth >= 0, or give it the score -inf")
    clipped = np.maximum(truth, 0)
    assert Metrics.compute(scores, clipped, "mrr")["mrr"].tolist() == [0.5]
    got = Metrics.compute(scores, clipped, "mrr", candidates=truth >= 0)
    assert got["mrr"].tolist() == [1.0]


def test_padded_indices_are_told_from_negative_labels():
    truth = np.array([[1, 2, -1], [0, -1, -1]])
    message = message_of(InputError, lambda: Metrics.compute(SCORES, truth, "hit@1"))
    assert "; for item indices type list(truth); for relevances type np.maximum(" in message
    assert Metrics.compute(SCORES, list(truth), "hit@1")["hit@1"].tolist() == [0.0, 1.0]


def test_a_negative_label_of_a_group():
    scores, relevance = [3, 2, 1], [-1, 1, 0]
    call = lambda scores, relevance: Metrics.compute_groups(scores, relevance, "mrr", sizes=[3])  # noqa: E731
    message = message_of(InputError, lambda: call(scores, relevance))
    clipped, masked = followed(message, scores=scores, relevance=relevance)
    assert call(scores, clipped)["mrr"].tolist() == [0.5]
    assert call(masked, clipped)["mrr"].tolist() == [1.0]


def test_a_relevant_document_that_the_first_stage_missed():
    # One of two is at rank 1: 1 / (1 + 1 / log2(3)).
    got = Metrics.compute_groups([2.0, 1.0, -np.inf], [1, 0, 1], "ndcg@10", sizes=[3])
    assert got["ndcg@10"].tolist() == pytest.approx([0.6131471927654584])


@pytest.mark.parametrize("form", FORMS)
def test_a_negative_label_is_not_relevant_under_trec(form):
    truth = FORMS[form](LABELS)
    expected = {"mrr": [1 / 3, 1.0]}
    for call in (Metrics.compute, Metrics.compute_factors, StreamEvaluator, Evaluator):
        if call is Metrics.compute:
            values = call(SCORES, truth, "mrr", convention="trec")
        elif call is Metrics.compute_factors:
            values = call(SCORES, np.eye(3), truth, "mrr", convention="trec")
        elif call is StreamEvaluator:
            evaluator = call("mrr", convention="trec")
            evaluator.update(SCORES, truth)
            values = evaluator.compute()
        else:
            evaluator = call(truth, "mrr", convention="trec")
            evaluator.update(SCORES)
            values = evaluator.compute()
        assert values["mrr"].tolist() == expected["mrr"]
    ranking = [[0, 1, 2], [0, 1, 2]]
    got = Metrics.compute_ranked(ranking, truth, "mrr", convention="trec")
    assert got["mrr"].tolist() == expected["mrr"]


def test_a_negative_label_of_a_group_or_a_table_is_not_relevant_under_trec():
    got = Metrics.compute_groups([3, 2], [-2, 1], "mrr", sizes=[2], convention="trec")
    assert got["mrr"].tolist() == [0.5]
    pytest.importorskip("narwhals", reason="narwhals is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    from recmetrics.tables import evaluate_table

    recs = pandas.DataFrame({"user": [1, 1], "item": [7, 8], "score": [2.0, 1.0]})
    truth = pandas.DataFrame({"user": [1, 1], "item": [7, 8], "rating": [-2, 1]})
    assert evaluate_table(recs, truth, "mrr", convention="trec")["mrr"].tolist() == [0.5]
    message = message_of(InputError, lambda: evaluate_table(recs, truth, "mrr"))
    assert message.endswith(
        "; clip the column to 0 if it is not relevant; for judgements of TREC type "
        "convention='trec'"
    )
    clipped = truth.assign(rating=truth["rating"].clip(0))
    assert evaluate_table(recs, clipped, "mrr")["mrr"].tolist() == [0.5]


@pytest.mark.parametrize("convention", [None, "trec"])
def test_minus_infinity_is_no_label(convention):
    for form in (np.asarray, sp.csr_array):
        truth = form([[0.0, -np.inf, 1.0]])
        message = message_of(
            InputError,
            lambda truth=truth: Metrics.compute([[3, 2, 1]], truth, "mrr", convention=convention),
        )
        assert "got -inf at (user 0, item 1)" in message


# --- Tensors -------------------------------------------------------------------------------------

of_torch = pytest.mark.filterwarnings("ignore:Sparse")  # which torch says where one is made


@of_torch
def test_sparse_tensors_are_read_by_their_entries():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    dense = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]])
    layouts = [dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()]
    layouts += [dense.bfloat16().to_sparse(), dense.to_sparse().requires_grad_()]
    for truth in layouts:
        got = Metrics.compute(SCORES, truth, ["mrr", "dcg@3"])
        assert got["mrr"].tolist() == [0.5, 1.0]
        assert got["dcg@3"].tolist() == pytest.approx([1 / np.log2(3), 1 + 2 / np.log2(4)])
        excluding = Metrics.compute(SCORES, [[2], [1]], "mrr", exclude=truth)
        assert excluding["mrr"].tolist() == [0.5, 1.0]
        assert audit(SCORES, truth).without_truth.users == 0
    # Of sparse scores, only the stored ones may be recommended.
    scores = torch.tensor([[0.0, -1.0, -2.0]]).to_sparse()
    assert Metrics.compute(scores, [[0]], "mrr")["mrr"].tolist() == [0.0]
    assert Metrics.compute(scores, [[2]], "mrr")["mrr"].tolist() == [0.5]


@of_torch
def test_a_repeated_entry_of_a_sparse_tensor_is_added():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    truth = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 1.0], (1, 3))
    assert Metrics.compute([[3, 2, 1]], truth, "cg@3")["cg@3"].tolist() == [2.0]
    assert audit([[3, 2, 1]], truth).duplicates.entries == 1


@of_torch
def test_negative_labels_of_a_sparse_tensor():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    for truth in (torch.tensor(LABELS).to_sparse(), torch.tensor(LABELS).to_sparse_csr()):
        message = message_of(InputError, lambda truth=truth: Metrics.compute(SCORES, truth, "mrr"))
        [clipped] = followed(message, truth=truth)
        assert Metrics.compute(SCORES, clipped, "mrr")["mrr"].tolist() == [1 / 3, 1.0]


def test_a_sparse_tensor_of_one_user():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    truth = torch.tensor([0, 1, 0]).to_sparse()
    message = message_of(ShapeError, lambda: Metrics.compute([[3, 2, 1]], truth, "mrr"))
    [matrix] = followed(message, truth=truth)
    assert Metrics.compute([[3, 2, 1]], matrix, "mrr")["mrr"].tolist() == [0.5]


def test_a_meta_tensor_has_no_values():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    empty = torch.empty(2, 3, device="meta")
    ends = "compute it with a model whose weights are loaded"
    message = message_of(InputTypeError, lambda: Metrics.compute(empty, [[0], [1]], "mrr"))
    assert message.startswith("scores is on the device meta, ")
    assert message.endswith(ends)
    sparse = torch.empty(2, 3, device="meta", layout=torch.sparse_coo)
    assert message_of(InputTypeError, lambda: Metrics.compute(SCORES, sparse, "mrr")).endswith(ends)
