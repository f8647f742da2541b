"""What each mistake is answered with, word for word, beside the call that is right."""

import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import message_of
from inside import METRICS
from problems import side_information

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluation,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    NaNScoreError,
    RecmetricsError,
    ShapeError,
    UndefinedMetricError,
    UnknownOptionError,
)

SCORES = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
TRUTH = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
LISTS = [[0], [1, 2]]
NAN, INF = np.nan, np.inf


def with_entry(matrix, user, item, value):
    changed = matrix.copy()
    changed[user, item] = value
    return changed


def compute(scores=SCORES, truth=TRUTH, metrics=("ndcg@2",), **options):
    return Metrics.compute(scores, truth, metrics, **options)


def ranked(ranking=((0, 1), (2, 1)), truth=TRUTH, metrics=("ndcg@2",), **options):
    return Metrics.compute_ranked(ranking, truth, metrics, **options)


class Mistake:
    """A call that fails, the call that was meant, and the error between them."""

    def __init__(self, error, message, *, wrong, right, call=compute):
        self.error, self.message = error, message
        self.wrong, self.right, self.call = wrong, right, call

    def check(self):
        with pytest.raises(self.error) as caught:
            self.call(**self.wrong)
        assert (type(caught.value), str(caught.value)) == (self.error, self.message)
        if isinstance(caught.value, RecmetricsError):
            assert caught.value.argument == self.message.split(" ")[0]
        for values in self.call(**self.right).values():
            assert values.shape == (2,)


def scores(error, message, wrong, right=SCORES):
    return Mistake(error, message, wrong={"scores": wrong}, right={"scores": right, "truth": TRUTH})


def truth(error, message, wrong, right=TRUTH):
    return Mistake(error, message, wrong={"truth": wrong}, right={"truth": right})


def option(error, message, *, right, call=compute, **wrong):
    return Mistake(error, message, wrong=wrong, right={"truth": TRUTH} | right, call=call)


def ranking(error, message, wrong, right):
    return Mistake(error, message, wrong={"ranking": wrong}, right={"ranking": right}, call=ranked)


MISTAKES = {}  # by what they are made in, and by name  # fmt: skip


# --- Scores --------------------------------------------------------------------------------------

REAL = "must hold real numbers (float16, bfloat16, float32, float64, integers or bool), got dtype"
AS_FLOAT = "; type np.asarray(scores, np.float64)"


def of_dtype(dtype, shown, hint=""):
    return scores(InputTypeError, f"scores {REAL} {shown}{hint}", SCORES.astype(dtype))


NOT_2D = "must be 2-d (n_users, n_items), got"
ONE_ENTRY = "must be an array or a list with one entry per user, got"
MASKED = "is a masked array, whose mask would be lost; expected a plain array; type"
PARTS = "whichever orders the items"
ROW_NUMBERS = {
    "scores": "",
    "truth": "; beside an array with a row for each user 0, 1, 2, ... type "
    "[truth.get(user, []) for user in range(n_users)]",
}

for name, of, whole in (("scores", scores, SCORES), ("truth", truth, TRUTH)):
    masked = np.ma.masked_equal(whole, 1)
    text = {
        "masked": (
            f"{name} {MASKED} {name}.filled(...) with the value for masked entries",
            masked,
            masked.filled(0),
        ),
        "complex": (
            f"{name} {REAL} complex128; type np.real({name}) or np.abs({name}), {PARTS}",
            whole + 0j,
            whole,
        ),
        "object": (
            f"{name} {REAL} object; type np.asarray({name}, np.float64)",
            whole.astype(object),
            whole,
        ),
        "a mapping": (
            f"{name} is a dict, expected an array with one entry per user; for a dict of ids type "
            f"recmetrics.tables.evaluate_table(recs, truth, metrics_list){ROW_NUMBERS[name]}",
            {0: [0]},
            whole,
        ),
    }
    MISTAKES[name] = {fault: of(InputTypeError, *rest) for fault, rest in text.items()}
    flat = "position of each sequence type {0}[:, -1], for every one {0}.reshape(-1, 3)"
    flat += " with target.reshape(-1)" * (name == "scores")
    MISTAKES[name]["3-d"] = of(
        ShapeError,
        f"{name} {NOT_2D} 3-d of shape (1, 2, 3); for the last " + flat.format(name),
        whole[None],
    )
MISTAKES["scores"] |= {
    **{
        f"one user, {form}": scores(
            ShapeError,
            f"scores {NOT_2D} 1-d of shape (3,); for one user type np.atleast_2d(scores); "
            "Metrics.compute_groups(..., ids=ids) reads rows of groups, such as queries",
            wrong,
        )
        for form, wrong in (("array", SCORES[0]), ("list", [3, 2, 1]))
    },
    **{
        f"scores, {kind}": scores(
            InputTypeError, f"scores {ONE_ENTRY} {wrong!r} of type {kind}", wrong
        )
        for kind, wrong in (("int", 5), ("NoneType", None), ("str", "scores.npy"))
    },
    "ragged": scores(InputTypeError,
        "scores must be a matrix of numbers, rows of the same length, got rows of 2 to 3",
        [[3, 2, 1], [1, 2]], [[3, 2, 1], [1, 2, 3]]),
    "None among numbers": scores(InputTypeError, f"scores {REAL} object{AS_FLOAT}",
        [[3, None, 1], [1, 2, 3]], [[3, -INF, 1], [1, 2, 3]]),
    "no objects": scores(ShapeError,  # which are no lists, either
        f"scores {NOT_2D} 1-d of shape (0,); for one user type np.atleast_2d(scores); "
        "Metrics.compute_groups(..., ids=ids) reads rows of groups, such as queries",
        np.empty(0, object)),
    "text": of_dtype("U3", "<U3", AS_FLOAT),
    "bytes": of_dtype("S3", "|S3", AS_FLOAT),
    "datetime": of_dtype("M8[s]", "datetime64[s]"),
    "timedelta": of_dtype("m8[s]", "timedelta64[s]"),
    "structured": of_dtype([("score", "<f8")], "[('score', '<f8')]"),
}  # fmt: skip


class Unreadable:
    """An array of a library whose memory has gone."""

    def __array__(self, dtype=None, copy=None):
        msg = "no memory"
        raise ValueError(msg)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [(Unreadable(), "'no memory'"), ([[1, [2, 3]], [1, [2]]], "'setting an array element ")],
    ids=["its own error", "a list in a list"],
)
def test_scores_that_numpy_cannot_read_are_refused_in_its_words(wrong, problem):
    expected = f"scores must be a matrix of numbers, rows of the same length, got {problem}"
    assert message_of(InputTypeError, Metrics.compute, wrong, TRUTH, "mrr").startswith(expected)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="longdouble is float64 here")
def test_scores_of_more_than_double_precision():
    of_dtype(np.longdouble, np.dtype(np.longdouble), AS_FLOAT).check()


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.coo_array])
def test_sparse_scores_that_store_an_item_twice(form):
    """Two users do: the first one of them is named, whose item is the last."""
    entries = np.array([3.0, 1.0, 2.0, 4.0])
    wrong = sp.coo_array((entries, ([1, 0, 0, 1], [0, 2, 2, 0])), shape=SCORES.shape)
    if form is not sp.coo_array:
        wrong = form((entries, [2, 2, 0, 0], [0, 2, 4]), shape=SCORES.shape)
    scores(
        InputError,
        "scores stores (user 0, item 2) twice; expected one entry for each item of a user; type "
        "scores.sum_duplicates() to add them",
        wrong,
        form(SCORES),
    ).check()


class Exported:
    """Speaks DLPack, from that device, and ends in the error given."""

    def __init__(self, device, error):
        self.device, self.error = device, error

    def __dlpack__(self):
        raise self.error

    def __dlpack_device__(self):
        return (2 if self.device == "cuda:0" else 1, 0)


class Converted(Exported):
    def __array__(self, dtype=None, copy=None):
        raise TypeError(*self.error.args)


ON_GPU = "scores is on the device cuda:0, expected an array on the CPU; type"
UNREADABLE = "expected a dense array of real numbers on the CPU"
MISTAKES["scores of another library"] = {
    "on a GPU": scores(InputTypeError, f"{ON_GPU} scores.cpu()", Exported("cuda:0", BufferError())),
    "on a GPU, of JAX": scores(InputTypeError, f"{ON_GPU} np.asarray(scores)",
        Converted("cuda:0", BufferError())),
    "of a dtype without a name": scores(InputTypeError,
        f"scores cannot be read as an array (no such dtype); {UNREADABLE}",
        Exported("cpu", BufferError("no such dtype"))),
    "unreadable": scores(InputTypeError,
        f"scores cannot be read as an array (the buffer is closed); {UNREADABLE}",
        Converted("cpu", BufferError("the buffer\n is closed"))),
}  # fmt: skip


# --- NaN among the scores ------------------------------------------------------------------------


def nan_message(count, user, item):
    return (
        f"scores hold {count} NaN, the first at (user {user}, item {item}); expected numbers; "
        "give nan='exclude' to treat NaN like a score of -inf"
    )


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "bfloat16"])
def test_nan_among_scores_are_counted_and_the_first_is_named(dtype, n_threads):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    matrix = np.zeros((700, 1100), dtype)
    truth = sp.csr_array(matrix.shape)
    matrix[[699, 401, 401, 55], [0, 1099, 17, 1024]] = NAN

    def call(**options):
        return Metrics.compute(matrix, truth, "hit@2", n_threads=n_threads, **options)

    assert message_of(NaNScoreError, call) == nan_message(4, 55, 1024)
    assert call(nan="exclude")["hit@2"].shape == (700,)


@pytest.mark.parametrize("payload", [0x7E00, 0x7C01, 0xFE00, 0xFFFF])
def test_every_nan_of_half_precision_is_one(payload):
    wrong = np.zeros((2, 3), np.uint16)
    wrong[1, 0] = payload
    scores(NaNScoreError, nan_message(1, 1, 0), wrong.view(np.float16)).check()


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("candidates", [[0, 2], [[0, 2], [2, 0]]], ids=["shared", "per user"])
def test_nan_among_the_scores_of_candidates(candidates, n_threads):
    matrix = np.array([[NAN, 1.0, 2.0], [1.0, NAN, NAN]])
    options = {"candidates": candidates, "n_threads": n_threads}
    assert message_of(NaNScoreError, lambda: compute(matrix, **options)) == nan_message(2, 0, 0)
    matrix[0, 0] = 0
    assert message_of(NaNScoreError, lambda: compute(matrix, **options)) == nan_message(1, 1, 2)
    matrix[1, 2] = 0
    compute(matrix, **options)  # the score that is left NaN belongs to no candidate


# --- Truth ---------------------------------------------------------------------------------------

FINITE = "truth must hold relevances from 0 to 1e+100, got"
FORMS = {
    "dense": np.asarray,
    "float16": lambda matrix: matrix.astype(np.float16),
    "Fortran": np.asfortranarray,
    "nested lists": lambda matrix: matrix.tolist(),
    "list of float rows": list,
    "csr": sp.csr_array,
    "coo": sp.coo_matrix,
}


@pytest.mark.parametrize("value, shown", [(-1, "-1"), (NAN, "nan"), (INF, "inf"), (-INF, "-inf")])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_relevances_that_are_none(form, value, shown):
    wrong = form(with_entry(TRUTH, 1, 0, value))
    message = f"{FINITE} {shown} at (user 1, item 0)"
    if value < 0 and sp.issparse(wrong):
        message += "; type truth.maximum(0) if it is not relevant"
    elif value < 0:
        array = "truth" if isinstance(wrong, np.ndarray) else "np.asarray(truth)"
        message += (
            f"; type np.maximum({array}, 0) if it is not relevant; if it is padding, type also "
            f"candidates={array} >= 0, or give it the score -inf"
        )
    elif math.isnan(value) and not sp.issparse(wrong):
        array = "truth" if isinstance(wrong, np.ndarray) else "np.asarray(truth)"
        message += f"; if NaN is not relevant type np.nan_to_num({array})"
    truth(InputError, message, wrong, form(TRUTH)).check()


TRANSPOSED = "one looks transposed: type scores.T or truth.T, so that rows are users"
SHAPE = "truth must have the users and items of the scores, (2, 3), got"
OUTSIDE = "which is outside the catalogue; expected 0 .. 2"
ONE_EACH = (
    "expected one collection of item indices for each of the 2 users; "
    "type [] for a user without items"
)


def sparse_not_2d():
    """Sparse arrays that are no matrix, as far as this SciPy has them: 1-d from 1.13, 3-d later."""
    for dense in (TRUTH[0], TRUTH[None]):
        try:
            array = sp.coo_array(dense)
        except TypeError:
            continue
        if array.ndim == dense.ndim:
            yield array


MISTAKES["truth as a matrix"] = {
    "transposed": truth(ShapeError, f"{SHAPE} (3, 2); {TRANSPOSED}", TRUTH.T),
    "sparse transposed": truth(ShapeError, f"{SHAPE} (3, 2); {TRANSPOSED}", sp.csc_array(TRUTH.T),
        sp.csc_array(TRUTH)),
    "other users": truth(ShapeError, f"{SHAPE} (1, 3)", TRUTH[:1]),
    "other items": truth(ShapeError, f"{SHAPE} (2, 2)", TRUTH[:, :2]),
    **{
        f"sparse and {wrong.ndim}-d": truth(
            ShapeError,
            f"truth must be 2-d (n_users, n_items), got {wrong.ndim}-d of shape {wrong.shape}",
            wrong,
        )
        for wrong in sparse_not_2d()
    },
    "1-d": truth(InputTypeError,
        "truth is 1-d of dtype float64, expected integers: the index of the relevant item of "
        "each row, -1 for none; type np.asarray(truth, int), or np.atleast_2d(truth) for "
        "the relevances of one user", TRUTH[0]),
    "1-d with a fraction": truth(InputTypeError,
        "truth is 1-d of dtype float64, expected integers: the index of the relevant item of "
        "each row, -1 for none; the first that is no integer is 0.5, at index [0]; type "
        "np.atleast_2d(truth) for the relevances of one user", np.array([0.5, 1.0])),
    "a mask of one user": truth(InputTypeError,
        "truth is 1-d of dtype bool, expected integers: the index of the relevant item of "
        "each row, -1 for none; type np.atleast_2d(truth) for the relevances of one user",
        TRUTH[0] > 0),
    "text as item indices": truth(InputTypeError,
        "truth is 1-d of dtype <U1, expected integers: the index of the relevant item of each "
        "row, -1 for none", ["1", "2"], [1, 2]),
    "a column of item indices": truth(ShapeError,
        f"{SHAPE} (2, 1); for one item index of each row type np.ravel(truth)",
        np.array([[0], [2]]), np.array([[0], [2]]).ravel()),
    "item indices of other rows": truth(ShapeError,
        "truth has 3 item indices, expected one for each of the 2 rows, -1 for none",
        np.array([0, 1, 2]), np.array([0, 1])),
    "an item index beyond the catalogue": truth(InputError,
        f"truth of row 1 is item 3, {OUTSIDE}, or -1 for none", [0, 3], [0, 2]),
    "an item index below -1": truth(InputError,
        f"truth of row 1 is item -100, {OUTSIDE}, or -1 for none; "
        "type np.maximum(np.asarray(truth), -1)",
        [0, -100], [0, -1]),
    "long form of (user, item) pairs": truth(ShapeError, f"{SHAPE} (4, 2)", np.zeros((4, 2))),
    "sparse complex": truth(InputTypeError,
        "truth must hold real numbers, got a sparse matrix of dtype complex128",
        sp.csr_array(TRUTH + 0j), sp.csr_array(TRUTH)),
}  # fmt: skip


def _damaged(form, **fields):
    """A matrix of 2 x 4 whose fields are replaced, as a program with an error would."""
    matrix = sp.csr_array([[0.0, 1, 1, 0], [1, 0, 0, 2]]).asformat(form)
    if form == "bsr":
        matrix = matrix.tobsr((1, 2))
    for name, value in fields.items():
        if name == "keys":
            matrix._dict = dict.fromkeys(value, 1.0)
        elif form == "lil":
            getattr(matrix, name)[0] = value
        else:
            setattr(matrix, name, np.array(value) if isinstance(value, list | range) else value)
    return matrix


DAMAGED = {  # the format and its damaged fields
    "csr, pointers that fall": ("csr", {"indptr": [0, 5, 4]}),
    "csr, pointers beyond": ("csr", {"indptr": [0, 2, 9]}),
    "csr, too few values": ("csr", {"data": [1.0]}),
    "csr, values in a column": ("csr", {"data": np.ones((4, 1))}),
    "csr, pointers of fewer users": ("csr", {"indptr": [0, 4]}),
    "csr, index beyond": ("csr", {"indices": [1, 2, 0, 4]}),
    "csr, index beyond, not in order": ("csr", {"indptr": [0, 4, 4], "indices": [1, 9, 0, 3]}),
    "csr, negative index": ("csr", {"indices": [-1, 2, 0, 3]}),
    "csc, negative index": ("csc", {"indices": [1, 0, 0, -1]}),
    "bsr, blocks of one value": ("bsr", {"data": np.ones(4)}),
    "bsr, index beyond": ("bsr", {"indices": [0, 9, 0, 1]}),
    "coo, fewer columns": ("coo", {"col": [0, 1, 2]}),
    "coo, index beyond": ("coo", {"col": [1, 2, 0, 4]}),
    "dia, fewer values than diagonals": ("dia", {"offsets": range(9)}),
    "lil, far outside": ("lil", {"rows": [1, 10**9]}),
    "lil, negative": ("lil", {"rows": [-1, 2]}),
    "lil, fewer values than items": ("lil", {"data": []}),
    "dok, outside": ("dok", {"keys": [(0, 1), (1, 7)]}),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_sparse_matrix_is_refused_before_it_is_followed(name):
    form, fields = DAMAGED[name]
    scores, whole = np.ones((2, 4)), _damaged(form)
    taken = {
        "truth": lambda matrix: Metrics.compute(scores, matrix, "recall@2"),
        "exclude": lambda matrix: Metrics.compute(scores, whole, "recall@2", exclude=matrix),
        "train": recmetrics.popularity_from,
    }
    for what, call in taken.items():
        call(whole)
        with pytest.raises(InputError, match=f"^{what} is a corrupt sparse matrix: "):
            call(_damaged(form, **fields))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_of_interactions_is_no_matrix(library):
    """Whatever the argument, and even where it has the shape of the truth; items may be columns."""
    frame = pytest.importorskip(library, reason=f"{library} is not installed").DataFrame
    table = frame({"userId": [0, 0, 1], "item_id": [1, 2, 1], "rating": [5, 3, 4]})
    square = np.eye(3)
    calls = {
        "truth": lambda: Metrics.compute(square, table, "mrr"),
        "exclude": lambda: Metrics.compute(square, square, "mrr", exclude=table),
        "candidates": lambda: Metrics.compute(square, square, "mrr", candidates=table),
        "scores": lambda: Metrics.compute(table, square, "mrr"),
    }
    for name, call in calls.items():
        assert message_of(InputTypeError, call) == (
            f"{name} is a table with the columns 'userId' and 'item_id', expected a matrix "
            f"(n_users, n_items); {TABLES}, or np.asarray({name}) if it is a matrix"
        )
    films = frame(
        {"Doc Hollywood": [0, 1, 0], "The Member of the Wedding": [0, 0, 1], "Up": [1, 0, 0]}
    )
    message = message_of(InputTypeError, Metrics.compute, square, films, "mrr")
    assert message.endswith("or np.asarray(truth) if it is a matrix")
    ranks = 1 / Metrics.compute(square, np.asarray(films), "mrr")["mrr"]
    assert ranks.tolist() == [3, 2, 3]
    matrix = frame({"user": [1, 0, 0], "item 1": [0, 1, 0], "item 2": [0, 0, 1]})
    assert Metrics.compute(square, matrix, "mrr")["mrr"].tolist() == [1, 1, 1]


MIXED = {1, "b"}
TABLES = "for tables of ids type recmetrics.tables.evaluate_table(recs, truth, metrics_list)"
GRADES_ARE_LOST = (
    "; every item is then relevant, whatever its number: to keep the relevances, give a matrix "
    "(n_users, n_items)"
)
MISTAKES["truth of each user"] = {
    "None for a user": truth(InputTypeError,
        "truth of user 0 is None, expected a collection of item indices; "
        "type [] for a user without items", [None, [1]], [[], [1]]),
    "a number for a user": truth(InputTypeError,
        "truth of user 1 is 2, expected a collection of item indices; "
        "type [] for a user without items", [[1], 2], [[1], [2]]),
    "items as floats": truth(InputTypeError,
        "truth of user 0 must be a 1-d array of integer item indices, or of relevances of "
        "length 3; got 1-d of shape (1,) and dtype float64",
        [np.array([0.0]), np.array([1.0, 2.0])], [np.array([0]), np.array([1, 2])]),
    "items of two types": truth(InputTypeError,
        "truth of user 1 must hold integer item indices, got " + str(MIXED),
        [{0}, MIXED], [{0}, {1, 2}]),
    "items as text": truth(InputTypeError,
        "truth of user 0 must be a 1-d array of integer item indices, or of relevances of "
        f"length 3; got 1-d of shape (1,) and dtype <U2; {TABLES}", [["i0"], ["i1", "i2"]], LISTS),
    "a matrix for a user": truth(ShapeError,
        "truth of user 0 must be a 1-d array of item indices, got 2-d of shape (1, 1); "
        "for one row or column type [np.ravel(items) for items in truth]",
        [[[0]], [[1]]], [[0], [1]]),
    "three columns for a user": truth(ShapeError,
        "truth of user 0 must be a 1-d array of item indices, got 2-d of shape (2, 3)",
        [[(0, 1, 2), (1, 2, 0)], [(2, 1, 0)]]),
    "matrices of other widths": truth(ShapeError,
        "truth of user 0 must be a 1-d array of item indices, got 2-d of shape (1, 1); "
        "for one row or column type [np.ravel(items) for items in truth]",
        [[[0]], [[1, 2]]], LISTS),
    "pairs": truth(ShapeError,
        "truth holds pairs such as (0, 5), expected a collection of item indices for each user; "
        "type [[int(item) for item, _ in items] for items in truth] if each is an item and its "
        f"number{GRADES_ARE_LOST}", [[], [(0, 5), (2, 4)]], [[], [0, 2]]),
    "pairs with a float": truth(ShapeError,
        "truth holds pairs such as (1.0, 0.5), expected a collection of item indices for each "
        "user; type [[int(item) for item, _ in items] for items in truth] if each is an item and "
        f"its number{GRADES_ARE_LOST}", [np.array([[1, 0.5]]), [(2, 0.5)]], [[1], [2]]),
    "pairs of text": truth(ShapeError,
        "truth holds pairs such as ('i0', '5'), expected a collection of item indices for each "
        f"user; {TABLES}", [[("i0", 5)], [("i1", 4)]], LISTS),
    "one user with pairs": truth(ShapeError,
        "truth of user 0 must be a 1-d array of item indices, got 2-d of shape (1, 2); "
        "for one row or column type [np.ravel(items) for items in truth]",
        [np.array([[0, 1]]), [2]], [[0, 1], [2]]),
    "dicts": truth(InputTypeError,
        "truth is a list of dicts, expected a collection of item indices for each user; type "
        f"[list(items) for items in truth]{GRADES_ARE_LOST}", [{0: 5.0}, {1: 4.0}], [[0], [1]]),
    "an array of dicts": truth(InputTypeError,
        "truth is a list of dicts, expected a collection of item indices for each user; type "
        f"[list(items) for items in truth]{GRADES_ARE_LOST}",
        np.array([{0: 5.0}, {1: 4.0}]), [[0], [1]]),
    "a sparse matrix for a user": truth(ShapeError,
        "truth is a list of 2 matrices, expected one; type scipy.sparse.vstack(truth) for batches",
        [sp.csr_array(TRUTH[:1]), sp.csr_array(TRUTH[1:])]),
}  # fmt: skip


# --- Lists of item indices -----------------------------------------------------------------------

TWICE = "expected each item index once; to drop the repeats type [np.unique(items) for items in {}]"
for name in ("truth", "exclude", "candidates"):
    of_user = f"{name} of user 1 names item"
    MISTAKES[f"{name} as lists"] = {
        fault: Mistake(error, message, wrong={name: wrong}, right={"truth": TRUTH, name: right})
        for fault, error, message, wrong, right in (
            ("beyond", InputError, f"{of_user} 3, {OUTSIDE}", [[0], [1, 3]], [[0], [1, 2]]),
            (
                "negative",
                InputError,
                f"{of_user} -100, {OUTSIDE}; if an index below 0 is no item type "
                f"[np.maximum(list(items), -1) for items in {name}]",
                [[0], [1, -100]],
                [[0], [1, -1]],
            ),
            (
                "after the end",
                InputError,
                f"{of_user} 2 after the end of the list; expected -1 only after the last item",
                [[0], [-1, 2]],
                [[0], [2, -1]],
            ),
            ("twice", InputError, f"{of_user} 2 twice; {TWICE.format(name)}", [[0], [2, 2]], LISTS),
            *(
                (
                    f"of {len(lists)} users",
                    ShapeError,
                    f"{name} lists the items of {len(lists)} users, {ONE_EACH}",
                    lists,
                    [{0}, {1}],
                )
                for lists in ([], [[2]], [{0}, {1}, {2}])
            ),
        )
    }
del MISTAKES["exclude as lists"]["twice"]  # which is excluded all the same
del MISTAKES["candidates as lists"]["of 0 users"]  # one empty list is for all

# --- Exclude and candidates ----------------------------------------------------------------------


MISTAKES["sets"] = {
    "exclude transposed": option(ShapeError,
        "exclude must have the users and items of the truth, (2, 3), got (3, 2); "
        "it looks transposed: type exclude.T", exclude=np.zeros((3, 2)),
        right={"exclude": np.zeros((2, 3))}),
    "exclude of one user": option(ShapeError,
        f"exclude {NOT_2D} 1-d of shape (3,); for one user type np.atleast_2d(exclude)",
        exclude=[1.0, 0.0, 0.0], right={"exclude": [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]}),
    "one excluded item of each user": option(ShapeError,
        "exclude is 1-d of shape (2,), expected a matrix or the items of each user; if it has one "
        "item for each user, -1 for none, type [[item] if item >= 0 else [] for item in exclude]",
        exclude=[2, 0], right={"exclude": [[2], [0]]}),
    "NaN in exclude": option(InputError,
        "exclude must hold numbers (0: not in the set), got nan at (user 0, item 1)",
        exclude=np.array([[0, NAN, 0], [0, 0, 0]]),
        right={"exclude": np.array([[0, -INF, 0], [0, 0, 0]])}),
    "NaN in sparse candidates": option(InputError,
        "candidates must hold numbers (0: not in the set), got nan at (user 0, item 1)",
        candidates=sp.coo_array([[0, NAN, 0], [0, 0, 0]]),
        right={"candidates": sp.coo_array([[0, -1.0, 0], [0, 0, 0]])}),
    "shared candidates beyond the catalogue": option(InputError,
        f"candidates names item 3, {OUTSIDE}", candidates=np.array([0, 3]),
        right={"candidates": np.array([0, 2])}),
    "shared candidates twice": option(InputError,
        "candidates names item 2 twice; expected each item index once; to drop the repeats type "
        "np.unique(candidates)",
        candidates=[2, 0, 2], right={"candidates": [2, 0]}),
    "candidates as a short mask": option(ShapeError,
        "candidates as a mask for all users must have n_items = 3 entries, got 2",
        candidates=np.array([True, False]), right={"candidates": np.array([True, False, True])}),
    "candidates as floats": option(InputTypeError,
        "candidates must hold integer item indices, got dtype float64; type "
        "np.asarray(candidates, np.int64) if these are indices", candidates=np.array([0.0, 2.0]),
        right={"candidates": np.array([0, 2])}),
    "candidates with a fraction": option(InputTypeError,
        "candidates must hold integer item indices, got dtype float64; the first that is no "
        "integer is 1.5, at index [1]", candidates=np.array([0.0, 1.5, -INF, NAN]),
        right={"candidates": np.array([0, 2])}),
    "candidates as a number": option(InputTypeError,
        "candidates must be an array or a list with one entry per user, got 2 of type int",
        candidates=2, right={"candidates": [2]}),
}  # fmt: skip


def test_no_item_is_in_an_empty_catalogue():
    empty = np.empty((2, 0))
    no_index = "which is outside the catalogue; expected no index, since there are 0 items"
    for call, message in (
        (lambda: compute(empty, [[], [0]]), f"truth of user 1 names item 0, {no_index}"),
        (lambda: compute(empty, [-1, 2]), f"truth of row 1 is item 2, {no_index}, or -1 for none"),
        (
            lambda: ranked([[-1], [3]], [[], []], n_items=0),
            f"ranking of user 1 names at rank 1 item 3, {no_index}, or -1; {UNKNOWN}",
        ),
    ):
        assert message_of(InputError, call) == message
    compute(empty, [[], []])


# --- Rankings ------------------------------------------------------------------------------------

ACCEPTS = "type {0}='waste' or {0}='drop' to accept such items"
UNKNOWN = ACCEPTS.format("unknown")
IN_CATALOGUE = f"which is outside the catalogue; expected 0 .. 2, or -1; {UNKNOWN}"


MISTAKES["ranking"] = {
    "item twice": ranking(InputError,
        "ranking of user 1 names at rank 3 item 2 twice; expected each item once; "
        f"{ACCEPTS.format('repeats')}", np.array([[0, 1, 2], [2, 1, 2]]),
        np.array([[0, 1, 2], [2, 1, 0]])),
    "item beyond the catalogue": ranking(InputError,
        f"ranking of user 1 names at rank 2 item 3, {IN_CATALOGUE}", [[0, 1], [2, 3]],
        [[0, 1], [2, 1]]),
    "item below -1": ranking(InputError,
        f"ranking of user 0 names at rank 1 item -2, {IN_CATALOGUE}", [[-2, 1], [2, 1]],
        [[-1, -1], [2, 1]]),
    "item after the end": ranking(InputError,
        "ranking of user 1 names at rank 2 item 2 after the end of the list; "
        "expected -1 only after the last item", np.array([[0, 1], [-1, 2]]),
        np.array([[0, 1], [2, -1]])),
    "float": ranking(InputTypeError,
        "ranking must hold integer item indices, got dtype float64; type "
        "np.asarray(ranking, np.int64) if these are indices", np.array([[0.0, 1.0], [2.0, 1.0]]),
        np.array([[0, 1], [2, 1]])),
    "fraction": ranking(InputTypeError,
        "ranking must hold integer item indices, got dtype float64; the first that is no integer "
        "is inf, at index [1, 0]", np.array([[0.0, NAN], [INF, 1.5]]), np.array([[0, 1], [2, 1]])),
    "float in a list": ranking(InputTypeError,
        "ranking of user 1 must hold integer item indices, got dtype float64; type "
        "[np.asarray(items, np.int64) for items in ranking] if these are indices",
        [[0], np.array([2.0, 1.0])], [[0], np.array([2, 1])]),
    "bool": ranking(InputTypeError,
        "ranking must hold integer item indices, got dtype bool; type "
        "np.asarray(ranking, np.int64) if these are indices", np.array([[True], [False]]),
        np.array([[1], [0]])),
    "one user": ranking(ShapeError,
        "ranking must be 2-d (n_users, k) or a list with one array of items per user, "
        "got 1-d of shape (2,); for one user type [ranking]", np.array([0, 1]),
        [np.array([0, 1]), []]),
    "3-d": ranking(ShapeError,
        "ranking must be 2-d (n_users, k) or a list with one array of items per user, "
        "got 3-d of shape (1, 2, 2)", np.zeros((1, 2, 2), int), np.array([[0, 1], [0, 1]])),
    "a set": ranking(InputTypeError,
        "ranking of user 1 is a set, which has no order; expected a list", [[0, 1], {2, 1}],
        [[0, 1], [2, 1]]),
    "sparse": ranking(InputTypeError,
        "ranking is sparse (csr_array), expected a dense array; type ranking.toarray()",
        sp.csr_array([[0, 1], [2, 1]]), sp.csr_array([[0, 1], [2, 1]]).toarray()),
    "of other users than the truth": ranking(ShapeError,
        "truth must have the users of the ranking, (1, n_items), got (2, 3)", [[0, 1]],
        [[0, 1], []]),
    "with nested lists that may be either": Mistake(InputTypeError,
        "truth is ambiguous: it may hold item indices or be a matrix of relevances; type "
        "[np.array(items) for items in truth] for indices, or np.array(truth) for a matrix",
        wrong={"truth": [[3, 0, 2], [0, 1, 2]], "ranking": [[0], [1]]},
        right={"truth": [[3, 0, 0], [0, 1, 2]], "ranking": [[0], [1]]}, call=ranked),
}  # fmt: skip


INDICES = [np.array([0, 5]), np.array([2])]
OF_SIX = "which is outside the catalogue; expected 0 .. 5"


MISTAKES["catalogue of rankings"] = {
    "an item of a ranking": Mistake(InputError,
        f"ranking of user 1 names at rank 2 item 6, {OF_SIX}, or -1; {UNKNOWN}",
        wrong={"ranking": [[0, 1], [2, 6]]}, right={"ranking": [[0, 1], [2, 5]]},
        call=lambda **given: ranked(truth=INDICES, n_items=6, **given)),
    "an item of truth": Mistake(InputError, f"truth of user 1 names item 6, {OF_SIX}",
        wrong={"truth": [np.array([0]), np.array([2, 6])]},
        right={"truth": [np.array([0]), np.array([2, 5])]},
        call=lambda **given: ranked(n_items=6, **given)),
    "another size than that of a matrix": Mistake(ShapeError,
        "truth has 3 items, got n_items=4; leave n_items out", wrong={"n_items": 4},
        right={"n_items": 3}, call=lambda **given: ranked(truth=np.eye(2, 3), **given)),
    "users of a matrix": Mistake(ShapeError,
        "truth must have the users of the ranking, (1, n_items), got (2, 3)",
        wrong={"ranking": [[0]]}, right={"ranking": [[0], [1]]},
        call=lambda **given: ranked(truth=np.eye(2, 3), n_items=3, **given)),
    "no number": Mistake(ArgumentError, "n_items must be a number of items, such as 3700, got 6.5",
        wrong={"n_items": 6.5}, right={"n_items": 6},
        call=lambda **given: ranked(truth=INDICES, **given)),
}  # fmt: skip


def test_truth_of_rankings_names_no_negative_item():
    message = (
        "truth of user 1 names item -4, which is outside the catalogue; expected an index >= 0; "
        "if an index below 0 is no item type [np.maximum(list(items), -1) for items in truth]"
    )
    assert message_of(InputError, lambda: ranked(truth=[[0], [-4]])) == message
    ranked(truth=[[0], [4]])


# --- Options -------------------------------------------------------------------------------------

COUNT = "must be an integer >= 1, got"
ALL_CORES = "leave it out to use all cores"


UNDEFINED = "undefined must be 'nan', 'zero', 'one' or 'raise', got"
MISTAKES["option"] = {
    **{
        f"{name}={wrong!r} of {call.__name__}": option(
            ArgumentError, message, call=call, right={name: right}, **{name: wrong}
        )
        for call in (compute, ranked)
        for name, wrong, right, message in (
            ("undefined", "none", "zero", f"{UNDEFINED} 'none'"),
            ("undefined", NAN, "nan", f"{UNDEFINED} nan"),
            ("n_threads", 0, 1, f"n_threads {COUNT} 0; {ALL_CORES}"),
            ("n_threads", -1, None, f"n_threads {COUNT} -1; {ALL_CORES}"),
            ("n_threads", 2.0, 2, f"n_threads {COUNT} 2.0; {ALL_CORES}"),
            ("n_threads", True, 1, f"n_threads {COUNT} True; {ALL_CORES}"),
        )
    },
    "nan": option(ArgumentError, "nan must be 'raise' or 'exclude', got 'ignore'", nan="ignore",
        right={"nan": "exclude"}),
    "progress": option(ArgumentError,
        "progress must be True, False or a callable of (rows done, rows), got 3", progress=3,
        right={"progress": print}),
    "unknown": option(TypeError, "Metrics.compute() got an unexpected keyword argument 'tresholds'",
        tresholds=3, right={}),
}  # fmt: skip


@pytest.mark.parametrize("wrong", ["abc", "0", "-2", "1.5"])
def test_number_of_threads_in_the_environment(monkeypatch, wrong):
    expected = int(wrong) if wrong == "0" else wrong
    monkeypatch.setenv("RECMETRICS_NUM_THREADS", wrong)
    name = "the environment variable RECMETRICS_NUM_THREADS"
    message = f"{name} {COUNT} {expected!r}; unset it to use all cores"
    with pytest.raises(ArgumentError) as caught:
        compute()
    assert str(caught.value) == message
    assert caught.value.argument == "n_threads"
    compute(n_threads=1)  # the argument comes first
    for right in ("2", " 2 ", ""):
        monkeypatch.setenv("RECMETRICS_NUM_THREADS", right)
        compute()


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda m: m.name)
def test_methods_refuse_what_compute_refuses(metric):
    method = getattr(Metrics, metric.method)
    got = message_of(ArgumentError, lambda: method(SCORES, TRUTH, undefined="none"))
    assert got == "undefined must be 'nan', 'zero', 'one' or 'raise', got 'none'"
    got = message_of(UnknownOptionError, lambda: method(SCORES, TRUTH, wrong=1))
    assert got.startswith(f"metric {metric.name!r} has no option 'wrong'; ")
    got = message_of(ArgumentError, lambda: method(SCORES, TRUTH, 0))
    assert got == "k must be an integer >= 1, such as 10, got 0"
    side = side_information(*np.shape(SCORES))
    shape = () if metric.reads == "exposure" else (2,)
    assert method(SCORES, TRUTH, 1, undefined="nan", **side).shape == shape


def test_undefined_values_under_raise():
    wrong = np.zeros((2, 3))
    got = message_of(UndefinedMetricError, lambda: compute(truth=wrong, undefined="raise"))
    assert got == (
        "ndcg@2 is undefined: 2 of 2 users have no relevant item, the first is user 0; expected "
        "a value for every user; give undefined='nan' or 'zero', or leave these users out"
    )
    assert compute(undefined="raise")["ndcg@2"].tolist() == compute()["ndcg@2"].tolist()
    assert compute(truth=wrong, undefined="zero")["ndcg@2"].tolist() == [0, 0]
    assert np.isnan(compute(truth=wrong)["ndcg@2"]).all()


@pytest.mark.parametrize(("of", "name"), [(of, name) for of in MISTAKES for name in MISTAKES[of]])
def test_a_mistake_is_answered_word_for_word(of, name):
    MISTAKES[of][name].check()


TWO = {"a": {"mrr": [0.5, 1.0]}, "b": {"mrr": [0.25, 1.0]}}
WITH_STRATUM = {"metrics_list": "recall(of=tail)@2", "strata": {"tail": [0, 3]}}
BATCH = Evaluator(TRUTH, "mrr")
OF_ITEMS = {"features": np.ones((3, 2)), "similarity": np.eye(3)}


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("metrics_list", lambda: Metrics.compute(SCORES, TRUTH, "ndgc@2")),
        ("strata['tail']", lambda: Metrics.compute(SCORES, TRUTH, **WITH_STRATUM)),
        ("strata", lambda: Metrics.compute(SCORES, TRUTH, "recall(of=tail)@2")),
        ("genres", lambda: Metrics.compute(SCORES, TRUTH, "calibration@2")),
        ("profile", lambda: compute(metrics="calibration@2", genres=np.eye(3), profile=np.eye(4))),
        (None, lambda: compute(metrics="diversity@2", **OF_ITEMS)),
        ("user_factors", lambda: Metrics.compute_factors([1.0], [[1.0]], [[1]], "mrr")),
        ("item_bias", lambda: Metrics.compute_factors([[1]], [[1]], [0], "mrr", item_bias=[1, 2])),
        ("relevance", lambda: Metrics.compute_groups([1.0], [-1.0], "mrr", sizes=[1])),
        ("sizes", lambda: Metrics.compute_groups([1.0], [1.0], "mrr", sizes=[2])),
        ("ids", lambda: Metrics.compute_groups([1.0], [1.0], "mrr", ids=["a", "b"])),
        ("ranks", lambda: Metrics.from_sampled([0], "mrr", n_sampled=2, n_items=4)),
        ("n_items", lambda: Metrics.chance([np.array([0])], "mrr")),
        ("train", lambda: recmetrics.popularity_from("train.npz")),
        ("users", lambda: BATCH.update(SCORES, [0, 2])),
        ("scores", lambda: BATCH.update(SCORES[:, :2])),
        ("value", lambda: recmetrics.identify(SCORES, TRUTH, "much", "mrr")),
        ("metric", lambda: recmetrics.identify(SCORES, TRUTH, "0.5", "coverage@2")),
        ("b", lambda: recmetrics.overlap(SCORES, SCORES[0], "jaccard@2")),
        ("candidates", lambda: recmetrics.overlap(SCORES, SCORES, "jaccard@2", candidates=[7])),
        ("results", lambda: recmetrics.compare({"one": {"mrr": [1.0]}})),
        ("baseline", lambda: recmetrics.compare(TWO, baseline="c")),
        ("by", lambda: recmetrics.compare(TWO, by=["x"])),
        ("rules", lambda: recmetrics.compare(TWO).gate("mrr > 5 %")),
        ("looks", lambda: recmetrics.compare(TWO).gate("mrr > 0", looks=0)),
        ("weights", lambda: recmetrics.summary(TWO["a"], weights=[1.0, -1.0])),
    ],
)
def test_an_error_names_the_argument_also_after_pickling(argument, call):
    with pytest.raises(RecmetricsError) as caught:
        call()
    error = pickle.loads(pickle.dumps(caught.value))
    assert caught.value.argument == argument
    assert (type(error), str(error), error.argument) == (caught.type, str(caught.value), argument)


def test_nested_lists_that_name_every_item_are_not_guessed():
    right = [np.array([0, 1, 2])] * 2
    for name in ("exclude", "candidates"):
        with pytest.raises(
            InputTypeError,
            match=f"^{name} is ambiguous: it may hold item indices or be a matrix of 0 and",
        ):
            compute(**{name: [[0, 1, 2], [2, 0, 1]]})
        compute(**{name: right})
        compute(**{name: [[0, 1, 1], [1, 0, 1]]})


# --- Evaluation ----------------------------------------------------------------------------------


def test_an_evaluation_takes_values_in_any_form():
    for values in ([1.0, NAN, 0.5], np.array([1, NAN, 0.5], np.float16), (1, NAN, 0.5)):
        found = Evaluation({"mrr": values})
        assert (found.counts.users, found.counts.undefined) == (3, {"mrr": 1})
        assert found.values["mrr"].dtype == np.float64
        assert found.to_dict()["means"][0]["mean"] == 0.75


@pytest.mark.parametrize(
    ("error", "values", "options", "message"),
    [
        (
            InputTypeError,
            [1.0, 0.5],
            {},
            "values must be a dict of what Metrics.compute returns, got list; type "
            "Evaluation({'ndcg@10': values})",
        ),
        (
            InputTypeError,
            {"mrr": ["0.5"]},
            {},
            "values['mrr'] must hold real numbers (float16, bfloat16, float32, float64, integers "
            "or bool), "
            "got dtype <U3; type np.asarray(values['mrr'], np.float64)",
        ),
        (
            ShapeError,
            {"mrr": [[1.0, 0.5]]},
            {},
            "values['mrr'] has shape (1, 2), expected one number per user, (n_users,), or ()",
        ),
        (
            ArgumentError,
            {"mrr": [1.0]},
            {"undefined": "null"},
            "undefined must be 'nan', 'zero', 'one' or 'raise', got 'null'",
        ),
        (
            ArgumentError,
            {"mrr": [1.0]},
            {"ties": "random"},
            "ties must be 'index', 'expected', 'worst', 'best' or 'range', got 'random'",
        ),
    ],
)
def test_an_evaluation_refuses_what_it_cannot_print(error, values, options, message):
    assert message_of(error, Evaluation, values, **options) == message


def test_what_cannot_be_converted_is_not_told_to_be():
    """NumPy has no number for a name, an array or a dict."""
    arrays = np.empty((2, 1), object)
    arrays[:, 0] = [np.array([0, 1]), np.array([1, 0])]
    message = message_of(InputTypeError, Metrics.compute_ranked, arrays, [[1], [0]], "mrr")
    assert message == (
        "ranking must hold integer item indices, got dtype object; expected the index of an item "
        "in each place"
    )
    of_texts = {"features": ["red", "blue", "red"]}
    for scores, keywords in ((SCORES, of_texts), ([[*"abc"]] * 2, {}), (arrays, {})):
        call = Metrics.compute, scores, TRUTH, ["mrr", "diversity@2"][: 1 + len(keywords)]
        message = message_of(InputTypeError, *call, **keywords)
        assert message.partition("got dtype ")[2] in ("<U4", "<U1", "object")
    for items, dtype in (([[10**400]] * 2, "object"), ([[1j], [0j]], "complex128")):
        message = message_of(InputTypeError, Metrics.compute_ranked, items, TRUTH, "mrr")
        assert message == (
            f"ranking of user 0 must hold integer item indices, got dtype {dtype}; expected the "
            "index of an item in each place"
        )
    assert message_of(InputTypeError, Metrics.compute, [[10**400] * 3] * 2, TRUTH, "mrr").endswith(
        "got dtype object"
    )
    lists = [np.array([np.float64(INF), None], object), [1]]
    assert message_of(InputTypeError, Metrics.compute, SCORES, lists, "mrr").endswith(
        "got 1-d of shape (2,) and dtype object"
    )
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    lists = pandas.Series([[3.0, 2.0, 1.0], [1.0, 3.0]])
    message = message_of(InputTypeError, Metrics.compute, lists, TRUTH, "mrr")
    assert message.startswith("scores must be a matrix of numbers, rows of the same length")
    assert message.endswith("got rows of 2 to 3")


def test_rows_in_an_array_of_objects_are_batches():
    rows = np.empty(2, object)
    rows[:] = [sp.csr_array(SCORES[:1]), sp.csr_array(SCORES[1:])]
    message = message_of(ShapeError, Metrics.compute, rows, TRUTH, "mrr")
    assert message == (
        "scores is a list of 2 matrices, expected one; type scipy.sparse.vstack(scores) for batches"
    )
    joined = sp.vstack(rows)
    assert (joined != sp.csr_array(SCORES)).nnz == 0
