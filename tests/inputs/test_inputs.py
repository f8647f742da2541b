"""Every form in which scores, truth, exclude and candidates may come gives the same values."""

import array
import re
import sys
import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical
from inside import ScoreMatrix, compiled
from problems import of_kind
from sizes import patched

from recmetrics import Evaluator, InputError, InputTypeError, Metrics

# Small whole numbers, which every dtype holds: float16, bfloat16, int8 and bool apart.
SCORES = np.array(
    [
        [3, 0, 5, 1, 4, 4, 2],
        [0, 0, 0, 0, 0, 0, 0],
        [7, 6, 5, 4, 3, 2, 1],
        [1, 2, 1, 2, 1, 2, 1],
        [0, 9, 8, 9, 8, 9, 0],
    ],
    float,
)
TRUTH = np.array(
    [
        [0, 1, 0, 0, 2, 0, 1],
        [1, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0],
        [0, 3, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0],
    ],
    float,
)
EXCLUDE = np.array(
    [
        [1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 0, 0],
        [0, 1, 0, 1, 0, 0, 1],
    ],
    float,
)
BINARY = (TRUTH > 0).astype(np.float64)
SPECS = [f"{m.name}@3" if m.default_k else m.name for m in of_kind("hits")]
SWAPPED = [">f2", ">f4", ">f8", ">i2", ">i4", ">i8", ">u2", ">u4", ">u8"]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def values(scores=SCORES, truth=TRUTH, **options):
    return Metrics.compute(scores, truth, SPECS, **options)


def bfloat16(matrix):
    return matrix.astype(ml_dtypes().bfloat16)


def ml_dtypes():
    return pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")


def pandas():
    return pytest.importorskip("pandas", reason="pandas is not installed")


def polars():
    return pytest.importorskip("polars", reason="polars is not installed")


def pyarrow():
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def arrow_frame(matrix):
    return pandas().DataFrame(matrix).astype(pandas().ArrowDtype(pyarrow().float64()))


def lists_of(matrix):
    return [np.flatnonzero(row) for row in matrix]


# --- Scores: dtypes ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "bfloat16", "f2", "f4", "f8", *INTEGERS, *SWAPPED])
def test_any_real_dtype(dtype):
    given = SCORES > 3 if dtype == "bool" else SCORES, BINARY if dtype == "bool" else TRUTH, EXCLUDE
    made = [bfloat16(each) if dtype == "bfloat16" else each.astype(dtype) for each in given]
    scores, truth, sets = made
    wide = [each.astype(np.float64) for each in given]
    assert_identical(values(scores, truth, exclude=sets), values(*wide[:2], exclude=EXCLUDE))
    assert_identical(values(scores, truth, candidates=sets), values(*wide[:2], candidates=EXCLUDE))
    if truth.dtype.isnative and dtype not in ("f2", "bfloat16"):  # which SciPy does not have
        assert_identical(values(truth=sp.csr_array(truth)), values(truth=wide[1]))


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "float4_e2m1fn", "int4"])
@pytest.mark.parametrize("what", ["scores", "truth", "user_factors"])
def test_dtypes_of_fewer_bits_are_refused_and_not_cut(name, what):
    """NumPy casts one of them to an integer that has no fraction left."""
    dtype = getattr(ml_dtypes(), name)
    given = {"scores": SCORES, "truth": BINARY}
    if what == "user_factors":
        given = {"user_factors": SCORES, "item_factors": np.ones((7, 7)), "truth": BINARY}
    call = Metrics.compute_factors if "user_factors" in given else Metrics.compute
    call(*given.values(), SPECS)
    given[what] = given[what].astype(dtype)
    message = (
        f"{what} must hold real numbers (float16, bfloat16, float32, float64, integers or "
        "bool), got dtype "
        f"{name}; type {what}.astype(np.float32)"
    )
    with pytest.raises(InputTypeError, match=f"^{re.escape(message)}$"):
        call(*given.values(), SPECS)
    given[what] = given[what].astype(np.float32)
    call(*given.values(), SPECS)


def test_tensors_of_float8_are_refused():
    torch = pytest.importorskip("torch", reason="tensors need torch")
    if not hasattr(torch, "float8_e5m2"):
        pytest.skip("a torch without float8")
    with pytest.raises(InputTypeError, match=r"; type scores\.float\(\)$"):
        values(torch.tensor(SCORES).to(torch.float8_e5m2))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64"])
def test_the_negative_bit_of_a_tensor_counts(dtype):
    torch = pytest.importorskip("torch", reason="tensors need torch")
    negative = torch._neg_view(torch.tensor(-SCORES).to(getattr(torch, dtype)))
    assert negative.is_neg()
    assert_identical(values(negative), values())
    assert negative.is_neg()  # the caller's tensor is unchanged


@pytest.mark.parametrize("dtype", [*INTEGERS, ">i2", ">u8"])
def test_the_ends_of_an_integer_range_are_ordinary_scores(dtype):
    ends = np.iinfo(dtype)
    scores = np.full((1, 5), ends.min + 1, dtype)
    scores[0, 1], scores[0, 3] = ends.max, ends.min
    ranks = [Metrics.mrr_at_k(scores, [[item]])[0] ** -1 for item in range(5)]
    assert ranks == [2, 1, 3, 5, 4]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "bfloat16"])
def test_infinities_and_zeros_of_a_float(dtype):
    scores = np.array([[-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, -(2.0**-14)]])
    scores = bfloat16(scores) if dtype == "bfloat16" else scores.astype(dtype)
    ranks = [Metrics.mrr_at_k(scores, [[item]])[0] for item in range(7)]
    assert ranks == [0, 1 / 6, 1 / 3, 1 / 4, 1 / 2, 1, 1 / 5]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_orders_as_it_does_in_float64(name):
    bits = np.random.default_rng(0).permutation(np.arange(1 << 16, dtype=np.uint16))[:4000]
    dtype = np.float16 if name == "float16" else ml_dtypes().bfloat16
    scores = bits.view(dtype).reshape(4, 1000)
    truth = np.random.default_rng(1).random(scores.shape) < 0.1
    with np.errstate(invalid="ignore"):  # NaN of all kinds are among the bits
        wide = scores.astype(np.float64)
    assert_identical(values(scores, truth, nan="exclude"), values(wide, truth, nan="exclude"))
    candidates = np.arange(0, 1000, 3)
    assert_identical(
        values(scores, truth, nan="exclude", candidates=candidates),
        values(wide, truth, nan="exclude", candidates=candidates),
    )


@pytest.mark.parametrize("dtype", ["<f2", ">f2", "bfloat16"])
def test_any_bit_of_half_precision_makes_an_item_relevant(dtype):
    bits = np.array([[0x0000, 0x8000, 0x0001, 0x0080, 0x0100, 0x3C00]], np.uint16)
    if dtype == "bfloat16":
        truth = bits.view(ml_dtypes().bfloat16)
    else:
        truth = bits.view(np.float16).astype(dtype)
    relevant = [[0, 0, 1, 1, 1, 1]]
    scores = np.arange(6.0)[None, :]
    recall = ["recall(denom=relevant)@3", "recall(denom=relevant)@5", "mrr"]
    got = Metrics.compute(scores, truth, recall)
    assert_identical(got, Metrics.compute(scores, np.array(relevant), recall))
    got = Metrics.compute(scores, np.ones((1, 6)), recall, exclude=truth)
    assert_identical(
        got, Metrics.compute(scores, np.ones((1, 6)), recall, exclude=np.array(relevant))
    )


@pytest.mark.parametrize(
    ("dtype", "score"),
    [("int64", score) for score in (2**53, -(2**53) - 1, 2**60, -(2**62), 2**63 - 2)]
    + [("uint64", score) for score in (2**53, 2**60, 2**63 - 1, 2**64 - 2)],
)
def test_large_integers_are_not_rounded(dtype, score):
    scores = np.array([[score, score + 1]], dtype)
    assert Metrics.mrr_at_k(scores, [[1]]).tolist() == [1.0]
    assert Metrics.mrr_at_k(scores, [[0]]).tolist() == [0.5]


# --- Scores: layouts and containers --------------------------------------------------------------


def strided(matrix):
    big = np.full((2 * matrix.shape[0], 3 * matrix.shape[1]), 99, matrix.dtype)
    big[::2, ::3] = matrix
    return big[::2, ::3]


def unaligned(matrix):
    raw = np.zeros(matrix.nbytes + 1, np.uint8)
    view = raw[1:].view(matrix.dtype).reshape(matrix.shape)
    view[:] = matrix
    assert not view.flags.aligned
    return view


def frozen(matrix):
    copy = matrix.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda matrix: matrix[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda matrix: matrix.T.copy().T,
    "unaligned": unaligned,
    "read-only": frozen,
}


@pytest.mark.parametrize(
    ("of_scores", "of_sets"), [("f4", "f8"), ("f4", "i1"), ("f2", "f2"), ("?", "?")]
)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_any_layout(layout, of_scores, of_sets):
    if layout is unaligned and of_sets in ("?", "i1"):
        pytest.skip("bytes are always aligned")
    scores, truth, sets = SCORES.astype(of_scores), BINARY.astype(of_sets), EXCLUDE.astype(of_sets)
    got = values(layout(scores), layout(truth), exclude=layout(sets))
    assert_identical(got, values(scores, BINARY, exclude=EXCLUDE))


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("dtype", ["f4", ">f4", "f8", "f2", "i1"])
def test_columns_of_scores_become_rows(dtype):
    scores = np.random.default_rng(0).integers(-100, 100, (150, 130)).astype(dtype)
    with patched({"_core.inputs.row_order": {"_LEAST_TRANSPOSED": 0}}):
        for rows in (slice(0, 150), slice(3, 140), slice(64, 128), slice(149, 150)):
            expected = ScoreMatrix(scores).block(rows)
            for matrix in (np.asfortranarray(scores), frozen(scores.T).T):
                block = ScoreMatrix(matrix).block(rows)
                assert block.values.flags.c_contiguous
                np.testing.assert_array_equal(block.values, expected.values)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("dtype", ["?", "i1", "f2", ">f4", "f8"])
def test_columns_of_sets_become_rows(dtype):
    rng = np.random.default_rng(0)
    scores = rng.random((150, 130))
    grades, excluded = rng.integers(0, 4, (2, 150, 130)) * (rng.random((2, 150, 130)) < 0.1)
    lists = [np.flatnonzero(row) for row in excluded]
    expected = Metrics.compute(scores, grades.astype(dtype), ["ndcg@10", "map"], exclude=lists)
    with patched({"_core.inputs.row_order": {"_LEAST_TRANSPOSED": 0}}):
        columns = np.asfortranarray(grades, dtype)
        got = Metrics.compute(
            scores, columns, ["ndcg@10", "map"], exclude=frozen(excluded.astype(dtype).T.copy()).T
        )
    assert_identical(got, expected)


class HasArray:
    """An object of another library that hands out a NumPy array."""

    def __init__(self, matrix):
        self.matrix = matrix

    def __array__(self, dtype=None, copy=None):
        return self.matrix


class HasDLPack:
    """An object of another library that speaks DLPack and nothing else."""

    def __init__(self, matrix, device=None):
        self.matrix = matrix
        self.device_number = device

    def __dlpack__(self, **keywords):
        return self.matrix.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.device_number or self.matrix.__dlpack_device__()


class OnSeveralDevices(HasArray):
    """An array that has no single address, as those of JAX that are spread over devices."""

    def __dlpack__(self, **keywords):
        raise NotImplementedError

    def __dlpack_device__(self):
        raise BufferError


CONTAINERS = {
    "nested lists": lambda matrix: matrix.tolist(),
    "nested tuples": lambda matrix: tuple(map(tuple, matrix.tolist())),
    "list of arrays": list,
    "__array__": HasArray,
    "DLPack": HasDLPack,
    "pinned for a GPU": lambda matrix: HasDLPack(matrix, (3, 0)),  # kDLCUDAHost
    "on several devices": OnSeveralDevices,
    "2-d memoryview": memoryview,
    "cast memoryview": lambda matrix: (
        memoryview(array.array("d", matrix.ravel())).cast("B").cast("d", matrix.shape)
    ),
    "np.matrix": np.matrix,
    "data frame": lambda matrix: pandas().DataFrame(matrix),
    "data frame of Int64": lambda matrix: pandas().DataFrame(matrix).astype("Int64"),
    "data frame of two dtypes": lambda matrix: pandas().DataFrame(matrix).astype({0: "Float32"}),
    "data frame of Arrow": arrow_frame,
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_scores_and_truth_in_any_container(container):
    assert_identical(values(container(SCORES), container(TRUTH)), values())
    # Where no scores tell the shape:
    metrics = ["ndcg@2", "recall@3"]
    assert_identical(Metrics.ceiling(container(TRUTH), metrics), Metrics.ceiling(TRUTH, metrics))


@pytest.mark.parametrize("container", [HasArray, HasDLPack, memoryview], ids=lambda c: c.__name__)
def test_a_container_that_hands_out_its_memory_is_not_copied(container):
    matrix = SCORES.copy()
    assert np.shares_memory(ScoreMatrix(container(matrix)).array, matrix)


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "boolean", "int64[pyarrow]"])
def test_frames_whose_dtypes_have_na(dtype):
    """NA becomes NaN; without it, whole numbers and bools stay what they are."""
    if "pyarrow" in dtype:
        pyarrow()
    frame = pandas().DataFrame([[1, 0, 1], [0, 1, 0]]).astype(dtype)
    kept = {"Float32": "float32", "boolean": "bool"}.get(dtype, "int64")
    assert ScoreMatrix(frame).array.dtype == kept
    got = Metrics.compute([[3, 2, 1], [3, 2, 1]], frame, "mrr", exclude=frame > 5)
    assert got["mrr"].tolist() == [1, 1 / 2]
    got = Metrics.compute(frame, [[2], [2]], "mrr", candidates=[0, 2], exclude=[[0], []])
    assert got["mrr"].tolist() == [1, 1 / 2]

    missing = frame.copy()
    missing.iloc[0, 0] = None
    with pytest.raises(InputError, match=r"1 NaN, the first at \(user 0, item 0\)"):
        Metrics.compute(missing, frame, "mrr")
    got = Metrics.compute(missing, [[2], [2]], "mrr", nan="exclude")
    assert got["mrr"].tolist() == [1, 1 / 3]
    with pytest.raises(InputError, match=r"got nan at \(user 0, item 0\)"):
        Metrics.compute([[3, 2, 1], [3, 2, 1]], missing, "mrr")


def test_two_items_of_one_user_are_no_pair():
    """Of several users, ``(0, 2)`` is told to be perhaps a user and an item."""
    scores = [[3.0, 2.0, 1.0]]
    assert Metrics.compute(scores, [(0, 2)], "recall@2")["recall@2"].tolist() == [1 / 2]
    keywords = {"exclude": [(0, 2)], "candidates": [(0, 1)]}
    assert Metrics.compute(scores, [(1,)], "mrr", **keywords)["mrr"].tolist() == [1]


def test_arrays_of_arrow_are_read_without_a_warning():
    """Their way of DLPack is deprecated, and has no bools."""
    array = pyarrow().array
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])
    assert Metrics.compute(scores, array([1, 0]), "mrr")["mrr"].tolist() == [1 / 2, 1 / 3]
    keywords = {"candidates": array([True, True, False])}
    assert Metrics.compute(scores, array([1, 0]), "mrr", **keywords)["mrr"].tolist() == [
        1 / 2,
        1 / 2,
    ]
    keywords = {"strata": {"new": array([False, False, True])}}
    assert Metrics.compute(scores, array([1, 0]), "share(of=new)@2", **keywords)[
        "share(of=new)@2"
    ].tolist() == [0.0, 1 / 2]
    relevance = array([False, True, False])
    values = Metrics.compute_groups(array([3.0, 2.0, 1.0]), relevance, "mrr", sizes=array([3]))
    assert values["mrr"].tolist() == [1 / 2]
    with pytest.raises(InputTypeError, match="truth is 1-d of dtype float64"):
        Metrics.compute(scores, array([1, None]), "mrr")


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]"])
def test_factors_features_and_rankings_in_frames_whose_dtypes_have_na(dtype):
    if "pyarrow" in dtype:
        pyarrow()
    users = pandas().DataFrame([[1.0, 0.0], [0.0, 1.0]]).astype(dtype)
    items = pandas().DataFrame([[3.0, 1.0], [2.0, 3.0], [1.0, 2.0]]).astype(dtype)
    got = Metrics.compute_factors(users, items, [[1], [2]], "mrr")
    assert got["mrr"].tolist() == [1 / 2, 1 / 2]
    axes = pandas().DataFrame(np.eye(3)).astype(dtype)
    got = Metrics.compute([[3, 2, 1]], [[1]], "diversity@2", features=axes)
    assert got["diversity@2"].tolist() == [1]
    ranking = pandas().DataFrame([[0, 1], [2, 0]]).astype("Int64")
    assert Metrics.compute_ranked(ranking, [[1], [2]], "mrr")["mrr"].tolist() == [1 / 2, 1]


def test_scores_in_a_memory_map(tmp_path):
    np.save(tmp_path / "scores.npy", SCORES)
    assert_identical(values(np.load(tmp_path / "scores.npy", mmap_mode="r")), values())
    columns = np.memmap(tmp_path / "columns", np.float32, "w+", shape=SCORES.shape, order="F")
    columns[:] = SCORES
    assert_identical(values(columns), values())


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "bool"])
def test_tensors_are_read_without_a_copy(dtype):
    torch = pytest.importorskip("torch", reason="tensors need torch")
    scores = torch.tensor(SCORES).to(getattr(torch, dtype))
    truth = torch.tensor(TRUTH).to(getattr(torch, "bfloat16" if dtype == "bfloat16" else "float64"))
    expected = values(scores.to(torch.float64).numpy())
    assert_identical(values(scores, truth), expected)
    assert_identical(values(scores.T.contiguous().T, truth.to_sparse().to_dense()), expected)
    assert ScoreMatrix(scores).array.ctypes.data == scores.data_ptr()


# --- Truth, exclude, candidates ------------------------------------------------------------------

SPARSE = [
    getattr(sp, f"{name}_{kind}")
    for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("matrix", "array")
]
EVERY_SPARSE = pytest.mark.parametrize("form", SPARSE, ids=lambda form: form.__name__)


@EVERY_SPARSE
def test_sets_in_any_sparse_form(form):
    truth, sets = form(TRUTH), form(EXCLUDE)
    assert_identical(values(truth=truth, exclude=sets), values(exclude=EXCLUDE))
    assert_identical(values(truth=truth, candidates=sets), values(candidates=EXCLUDE))


def csr(entries, shape=TRUTH.shape):
    """A CSR array of (user, item, value) as they come: unsorted, repeated, zero."""
    users, items, data = (np.array(column) for column in zip(*entries, strict=True))
    order = np.argsort(users, kind="stable")
    indptr = np.concatenate(([0], np.cumsum(np.bincount(users, minlength=shape[0]))))
    return sp.csr_array((data[order], items[order], indptr), shape=shape)


UNSORTED = [(u, i, TRUTH[u, i]) for u, i in zip(*np.nonzero(TRUTH), strict=True)][::-1]


def test_repeated_entries_of_a_sparse_truth_add_up():
    halves = [(u, i, value / 2) for u, i, value in UNSORTED]
    assert_identical(values(truth=csr(halves + halves)), values())
    assert_identical(values(truth=csr([*UNSORTED, (2, 3, 1.0), (2, 3, -1.0)])), values())
    likes = [(u, i, True) for u, i, _ in UNSORTED]  # of bool they stay 1
    assert_identical(values(truth=csr(likes + likes)), values(truth=BINARY))


def test_explicit_zeros_of_a_sparse_truth_are_not_relevant():
    truth = csr([*UNSORTED, (0, 0, 0.0), (2, 1, 0.0), (2, 2, -0.0)])
    assert truth.nnz == len(UNSORTED) + 3
    assert_identical(values(truth=truth), values())
    assert_identical(values(exclude=truth), values(exclude=TRUTH))
    assert_identical(values(candidates=truth), values(candidates=TRUTH))


def test_sparse_arrays_may_be_longer_than_their_entries():
    truth = csr(UNSORTED)
    truth.data, truth.indices = np.append(truth.data, np.nan), np.append(truth.indices, 99)
    assert_identical(values(truth=truth), values())
    assert len(truth.data) == len(UNSORTED) + 1


def object_array(lists):
    column = np.empty(len(lists), object)
    column[:] = lists
    return column


LISTS = {
    "list of arrays": lists_of,
    "tuple of arrays": lambda matrix: tuple(lists_of(matrix)),
    "list of int32 arrays": lambda matrix: [i.astype(np.int32) for i in lists_of(matrix)],
    "list of unsorted arrays": lambda matrix: [items[::-1] for items in lists_of(matrix)],
    "list of lists": lambda matrix: [items.tolist() for items in lists_of(matrix)],
    "list of lists of NumPy integers": lambda matrix: [list(items) for items in lists_of(matrix)],
    "list of arrays or lists": lambda matrix: [
        items if items.size > 1 else items.tolist() for items in lists_of(matrix)
    ],
    "list of tuples": lambda matrix: [tuple(items.tolist()) for items in lists_of(matrix)],
    "list of sets": lambda matrix: [set(items.tolist()) for items in lists_of(matrix)],
    "list of frozensets": lambda matrix: [frozenset(items.tolist()) for items in lists_of(matrix)],
    "list of DLPack": lambda matrix: [HasDLPack(items) for items in lists_of(matrix)],
    "list of buffers": lambda matrix: [array.array("q", items) for items in lists_of(matrix)],
    "array of arrays": lambda matrix: object_array(lists_of(matrix)),
    "array of lists": lambda matrix: object_array([i.tolist() for i in lists_of(matrix)]),
    "series of lists": lambda matrix: pandas().Series(lists_of(matrix)),
    "polars": lambda matrix: polars().Series([items.tolist() for items in lists_of(matrix)]),
    "pyarrow": lambda matrix: pyarrow().array(lists_of(matrix)),
    "chunks of pyarrow": lambda matrix: pyarrow().chunked_array(
        [lists_of(matrix[:2]), lists_of(matrix[2:])]
    ),
    "series of pyarrow": lambda matrix: pandas().Series(
        lists_of(matrix), dtype=pandas().ArrowDtype(pyarrow().large_list(pyarrow().int32()))
    ),
    "list of bool rows": lambda matrix: list(matrix > 0),
    "list of float rows": lambda matrix: list(matrix.astype(np.float32)),
    "nested lists": lambda matrix: matrix.astype(int).tolist(),
    "nested lists of bools": lambda matrix: (matrix > 0).tolist(),
}


@pytest.mark.parametrize("form", LISTS.values(), ids=LISTS)
def test_sets_as_one_collection_per_user(form):
    truth, sets = form(BINARY), form(EXCLUDE)
    assert_identical(values(truth=truth, exclude=sets), values(truth=BINARY, exclude=EXCLUDE))
    assert_identical(values(truth=truth, candidates=sets), values(truth=BINARY, candidates=EXCLUDE))


AT_ONCE = ["list of arrays", "list of int32 arrays", "list of lists", "list of tuples"]


def calls_in_reader(call):
    """Count the calls of functions of ``inputs/arrays.py``, which reads collections."""
    names = []

    def watch(frame, event, _):
        is_function = event == "call" and not frame.f_code.co_name.startswith("<")
        if is_function and frame.f_globals.get("__name__", "").endswith("inputs.arrays"):
            names.append(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(names)


@pytest.mark.parametrize("form", [*AT_ONCE, "list of sets"])
def test_collections_of_all_users_are_read_at_once(form):
    """A check of each in turn takes ten times as long as the metrics."""

    def calls_for(n_copies):
        scores, truth = np.tile(SCORES, (n_copies, 1)), LISTS[form](BINARY) * n_copies
        return calls_in_reader(lambda: Metrics.compute(scores, truth, "ndcg@2", exclude=truth))

    assert calls_for(40) == calls_for(1) > 0


@pytest.mark.parametrize("form", AT_ONCE)
def test_rankings_of_all_users_are_read_at_once(form):
    def calls_for(n_copies):
        rankings, truth = LISTS[form](BINARY) * n_copies, np.tile(TRUTH, (n_copies, 1))
        return calls_in_reader(lambda: Metrics.compute_ranked(rankings, truth, "ndcg@2"))

    assert calls_for(40) == calls_for(1) > 0


def test_sets_may_all_be_empty():
    for nobody in ([[]] * 5, [np.array([])] * 5, [set()] * 5, np.zeros((5, 7))):
        assert_identical(values(truth=nobody), values(truth=sp.csr_array((5, 7))))
        assert_identical(values(exclude=nobody), values())


def test_an_item_may_be_excluded_twice():
    twice = [[0, 0], [], [0, 1, 5, 1], [1], [6, 3, 1]]
    assert_identical(values(exclude=twice), values(exclude=EXCLUDE))


SHARED = {
    "array": np.array([1, 2, 4, 6]),
    "unsorted int32 array": np.array([6, 4, 1, 2], np.int32),
    "list": [1, 2, 4, 6],
    "tuple": (4, 1, 2, 6),
    "set": {1, 2, 4, 6},
    "range-like": HasArray(np.array([1, 2, 4, 6])),
    "buffer": array.array("q", [1, 2, 4, 6]),
    "memoryview": memoryview(np.array([1, 2, 4, 6])),
    "mask": np.array([0, 1, 1, 0, 1, 0, 1], bool),
    "list of bools": [False, True, True, False, True, False, True],
}


@pytest.mark.parametrize("shared", SHARED.values(), ids=SHARED)
def test_candidates_shared_by_all_users(shared):
    expected = values(candidates=[np.array([1, 2, 4, 6])] * 5, exclude=EXCLUDE)
    assert_identical(values(candidates=shared, exclude=EXCLUDE), expected)


RANKING = np.array([[5, 0, 6], [1, -1, -1], [2, 3, 0], [-1, -1, -1], [4, 2, -1]])


def padded_lists():
    return [row[row >= 0] for row in RANKING]


RANKINGS = {
    "int32": RANKING.astype(np.int32),
    "Fortran": np.asfortranarray(RANKING),
    "byte-swapped": RANKING.astype(">i2"),
    "nested lists": RANKING.tolist(),
    "list of arrays": padded_lists(),
    "list of lists": [row.tolist() for row in padded_lists()],
    "array of arrays": object_array(padded_lists()),
    "memoryview": memoryview(RANKING),
    "DLPack": HasDLPack(RANKING),
}


@pytest.mark.parametrize("ranking", RANKINGS.values(), ids=RANKINGS)
def test_rankings_in_any_form(ranking):
    specs = ["ndcg@2", "map", "recall@3"]
    expected = Metrics.compute_ranked(frozen(RANKING), TRUTH, specs)
    assert_identical(Metrics.compute_ranked(ranking, TRUTH, specs), expected)
    assert_identical(Metrics.compute_ranked(ranking, sp.coo_array(TRUTH), specs), expected)


def test_rankings_in_a_column_of_lists():
    lists, truth = [[5, 0, 6], [], [2, 3, 0]], [[0], [1], [0, 2]]
    columns = [polars().Series(lists), pyarrow().array(lists), pandas().Series(lists)]
    for column in columns:
        got = Metrics.compute_ranked(column, truth, "mrr")
        assert got["mrr"].tolist() == [1 / 2, 0, 1]
        got = Metrics.compute_ranked([[0], [1], [2]], column, "mrr")
        np.testing.assert_array_equal(got["mrr"], [1, np.nan, 1])


# --- Inputs are read, and only read --------------------------------------------------------------


def scipy_state(matrix):
    parts = {name: vars(matrix)[name] for name in ("data", "indices", "indptr")}
    flags = {key: entry for key, entry in vars(matrix).items() if key.startswith("_has_")}
    return {name: (id(part), part.tobytes()) for name, part in parts.items()}, flags


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_inputs_are_not_changed(make):
    repeated = csr(UNSORTED + UNSORTED)
    matrices = [
        make(csr(UNSORTED)),
        make(EXCLUDE),
        repeated if make is sp.csr_array else make(TRUTH),
    ]
    before = list(map(scipy_state, matrices))
    truth, exclude, candidates = matrices
    values(truth=truth, exclude=exclude)
    values(truth=candidates, candidates=candidates, exclude=candidates)
    assert list(map(scipy_state, matrices)) == before
    assert repeated.nnz == 2 * len(UNSORTED)


@pytest.mark.parametrize("n_relevant", [1, 2, 64, 65, 300])
def test_relevant_items_in_no_order_are_sorted_with_their_relevances(n_relevant):
    rng = np.random.default_rng(n_relevant)
    truth = np.zeros((50, 400))
    items = rng.permuted(np.tile(np.arange(400), (50, 1)), axis=1)[:, :n_relevant]
    grades = rng.integers(1, 5, items.shape).astype(float)
    np.put_along_axis(truth, items, grades, axis=1)
    start = np.arange(0, items.size + 1, n_relevant)
    unsorted = sp.csr_array((grades.ravel(), items.ravel(), start), shape=truth.shape)
    scores = rng.integers(0, 5, truth.shape)  # ties are counted from one item to the next
    metrics = ["ndcg(gain=exp2)@50", "auc"]
    expected = Metrics.compute(scores, truth, metrics)
    for n_threads in (1, 2):
        got = Metrics.compute(scores, unsorted, metrics, n_threads=n_threads)
        assert_identical(got, expected)
    np.testing.assert_array_equal(unsorted.indices, items.ravel())


@pytest.mark.parametrize("dtype", ["f8", "f2", "i1", ">f4"])
def test_dense_inputs_are_not_changed(dtype):
    scores, truth, exclude = (m.astype(dtype) for m in (SCORES, TRUTH, EXCLUDE))
    before = [m.tobytes() for m in (scores, truth, exclude)]
    values(scores, truth, exclude=exclude)
    values(scores, truth, candidates=exclude)
    assert [m.tobytes() for m in (scores, truth, exclude)] == before
    assert scores.flags.writeable
    assert truth.flags.writeable


def test_lists_are_not_changed():
    lists = [np.array([6, 1, 4]), np.array([6, 0]), np.array([], int), np.array([2]), np.array([4])]
    before = [items.tolist() for items in lists]
    values(truth=lists, exclude=lists, candidates=lists)
    Metrics.compute_ranked(lists, lists, "ndcg")
    assert [items.tolist() for items in lists] == before


def test_half_precision_at_its_ends():
    most = 65504.0  # the largest number of half precision
    truth = np.full((1, 3), most, np.float16)  # a sum in half precision would be infinite
    assert Metrics.compute([[3, 2, 1]], truth, "cg@3")["cg@3"].tolist() == [3 * most]
    large = np.full((1, 2), most, np.float16)  # so would their products
    got = Metrics.compute_factors(large, np.array([[1], [-1]]) * large, [[1, 0]], "mrr")
    assert got["mrr"].tolist() == [1]


def test_results_are_the_callers_to_write_on():
    first, second = values(), values()
    for name in SPECS:
        first[name][:] = -1
    assert_identical(second, values())


@pytest.mark.needs_jit
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f2", "?"])
def test_no_array_of_the_size_of_the_scores_is_made(dtype, order):
    shape = (2000, 20_000)
    scores = np.zeros(shape, dtype, order=order)
    truth = [np.array([user]) for user in range(shape[0])]
    with compiled():
        values(scores[:2], truth[:2], n_threads=1)
    tracemalloc.start()
    try:
        Metrics.compute(scores, truth, ["ndcg@10", "recall@10"], n_threads=2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < scores.nbytes / 2


def lists_of_sparse(matrix):
    return lists_of(matrix.toarray())


def peak_of(call):
    """The bytes that a call takes at most, once its kernels are compiled."""
    with compiled():
        call()
        tracemalloc.start()
        try:
            call()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@pytest.mark.needs_jit
@pytest.mark.parametrize("argument", ["exclude", "candidates"])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, lists_of_sparse])
def test_a_call_takes_no_more_memory_than_is_guaranteed(form, argument):
    """The bytes are those of docs/inside.md."""
    rng = np.random.default_rng(0)
    shape = (5_000, 500)
    scores = rng.random(shape, np.float32)
    truth = sp.csr_array(rng.random(shape) < 0.01)
    sets = sp.csr_array(rng.random(shape) < 0.1)
    options = {argument: form(sets)}
    peak = peak_of(lambda: Metrics.compute(scores, truth, "ndcg@10", **options))
    assert peak < 100 * shape[0] + 50 * truth.nnz + 40 * sets.nnz


@pytest.mark.needs_jit
@pytest.mark.parametrize("has_candidates", [False, True])
@pytest.mark.parametrize("n_relevant", [65_000, 132_000])
def test_a_long_row_takes_no_more_memory_than_is_guaranteed(n_relevant, has_candidates):
    """The bytes are those of docs/inside.md. The bins are as many as the next power of two."""
    n_items = 132_000
    scores = np.random.default_rng(0).random((1, n_items), np.float32)
    options = {"candidates": [np.arange(n_items)]} if has_candidates else {}
    truth = [np.arange(n_relevant)]
    peak = peak_of(lambda: Metrics.compute(scores, truth, "auc", **options))
    assert peak < 100 + (50 + 60) * n_relevant + (40 + 40 * has_candidates) * n_items


@pytest.mark.thorough
@pytest.mark.needs_jit
def test_a_matrix_of_more_than_two_to_the_31_scores(tmp_path):
    shape = (300, 7_200_000)
    assert shape[0] * shape[1] > 2**31
    scores = np.memmap(tmp_path / "scores", np.int8, "w+", shape=shape)  # a file of holes
    scores[-1, [5, -1]] = [1, 3]
    for options in ({}, {"candidates": np.array([5, shape[1] - 1])}):
        got = Metrics.compute(scores, [[5]] * shape[0], "mrr@3", **options)["mrr@3"]
        assert got[-1] == 0.5
        assert np.all(got[:-1] == (1.0 if options else 0.0))


def test_items_beyond_two_to_the_31(tmp_path):
    n_items, last = 2**31 + 70, 2**31 + 69
    scores = np.memmap(tmp_path / "scores", np.int8, "w+", shape=(1, n_items))  # a file of holes
    scores[0, [5, last]] = [1, 3]
    sparse = sp.csr_array((np.ones(2), np.array([5, last]), np.array([0, 2])), shape=scores.shape)
    for truth in ([[last, 5]], sparse):
        got = Metrics.compute(scores, truth, ["map@3"], candidates=[5, 7, last])
        assert got == {"map@3": [1.0]}
        with pytest.raises(InputError, match=r"at most 2,147,483,647 can be ranked .* candidates="):
            Metrics.compute(scores, truth, ["map@3"])
        assert Metrics.compute_ranked([[7, last]], truth, ["map@3"]) == {"map@3": [0.25]}


# --- Empty and tiny ------------------------------------------------------------------------------


def undefined(spec):
    return 0.0 if spec.startswith(("dcg", "cg")) else np.nan


@pytest.mark.parametrize("n_items", [0, 1, 7])
@pytest.mark.parametrize(
    "options", [{}, {"candidates": np.zeros((0,), int)}, {"candidates": []}, {"exclude": []}]
)
def test_no_users(n_items, options):
    empty = np.empty((0, n_items))
    for truth in (empty, sp.csr_array((0, n_items)), []):
        got = values(empty, truth, **options)
        assert Evaluator(truth, "mrr", n_items=n_items, **options).compute()["mrr"].shape == (0,)
        assert list(got) == SPECS
        assert {(v.shape, v.dtype) for v in got.values()} == {((0,), np.dtype(np.float64))}


@pytest.mark.parametrize("options", [{}, {"candidates": np.zeros((0,), int)}])
def test_no_items(options):
    empty = np.empty((3, 0))
    for truth in (empty, sp.csr_array((3, 0)), [[], [], []]):
        assert_identical(
            values(empty, truth, **options), {s: np.full(3, undefined(s)) for s in SPECS}
        )


NOTHING_TO_RECOMMEND = {
    "all -inf": {"scores": np.full(SCORES.shape, -np.inf)},
    "all NaN": {"scores": np.full(SCORES.shape, np.nan), "nan": "exclude"},
    "all excluded": {"exclude": np.ones(SCORES.shape)},
    "no candidates": {"candidates": [[]] * 5},
    "no shared candidates": {"candidates": np.array([], int)},
    "an empty list of candidates": {"candidates": []},
    "candidates excluded": {"candidates": EXCLUDE, "exclude": EXCLUDE},
}


@pytest.mark.parametrize("options", NOTHING_TO_RECOMMEND.values(), ids=NOTHING_TO_RECOMMEND)
def test_users_without_anything_to_recommend_score_0(options):
    has_relevant = TRUTH.any(axis=1)
    got = values(**options)
    for spec in SPECS:
        # A share of no items; ranks in no list; the end of the list.
        worst = {"fallout@3": np.nan, "mean_rank": np.nan, "percentile_rank": 1.0}
        value = worst.get(spec, 0.0)
        assert_identical({spec: got[spec]}, {spec: np.where(has_relevant, value, undefined(spec))})


def test_bools_of_any_byte_are_true():
    bytes_of = np.zeros((2, 64), np.uint8)
    bytes_of[0, :7] = 255
    bytes_of[1, 3] = 4
    scores = np.tile(np.arange(64.0), (2, 1))
    got = Metrics.compute(scores, bytes_of.view(bool), "mrr")["mrr"]
    assert got.tolist() == [1 / (64 - 6), 1 / (64 - 3)]


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_repeated_entries_add_up_beyond_their_dtype(form):
    entries = (np.array([200, 100], np.uint8), (np.zeros(2, int), np.zeros(2, int)))
    truth = sp.coo_array(entries, shape=(1, 3))
    if form != "coo":
        pointers = [0, 2] if form == "csr" else [0, 2, 2, 2]
        kind = sp.csr_array if form == "csr" else sp.csc_array
        truth = kind((entries[0], np.zeros(2, int), np.array(pointers)), shape=(1, 3))
    assert Metrics.compute([[3, 2, 1]], truth, "cg@1")["cg@1"] == 300
    got = Metrics.compute([[3, 2, 1]], [[1, 0, 0]], "hit@1", exclude=truth)["hit@1"]
    assert got == 0


def test_opposite_entries_of_exclude_do_not_cancel():
    twice = (np.array([1.0, -1.0]), (np.zeros(2, int), np.zeros(2, int)))
    for form in (sp.coo_array(twice, shape=(1, 3)), sp.csc_array(sp.coo_array([[1.0, 0, 0]]))):
        got = Metrics.compute([[3, 2, 1]], [[1, 0, 0]], "hit@1", exclude=form)["hit@1"]
        assert got == 0


@pytest.mark.parametrize("of", [2**63, 2**64 - 1])
def test_an_index_beyond_64_bits_is_no_negative_one(of):
    scores = [[2.0, 1.0]]
    forms = [np.array([of], np.uint64), [of], {of}]
    for name, items in product(("truth", "exclude", "candidates"), forms):
        sets = {"truth": [[0]]} | {name: [items]}
        with pytest.raises(InputError, match=f"names item {of}; expected an index below 2\\^63"):
            Metrics.compute(scores, sets.pop("truth"), "hit@1", **sets)
    assert Metrics.compute(scores, [np.array([0], np.uint64)], "hit@1")["hit@1"] == [1.0]
