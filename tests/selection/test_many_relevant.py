"""Many relevant items a user: what is kept of them, and how they are found, in every form."""

import functools
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical
from hostile_rows import HOSTILE, ranks_by_sort
from inside import compiled
from problems import of_kind, of_lists
from sizes import patched

from recmetrics import InputError, Metrics, NaNScoreError, StreamEvaluator
from recmetrics._core import jit
from recmetrics._core.inputs import read_matrix, read_users
from recmetrics._core.selection import find_hits, matrix
from recmetrics._core.spec import Request, parse


@contextmanager
def looking_up():
    """Compile, or look up where nothing is compiled as well."""
    with compiled(), patched({"_core.selection.matrix": {"compiles": lambda: True}}):
        yield


N_ITEMS = 1_537
KINDS = list(HOSTILE)
UNTIED = KINDS.index("one lane holds the best")
TEXTS = [f"{m.name}@10" for m in of_kind("hits") if m.default_k and not m.counts_all_items]
TEXTS.append("precision(denom=list)@10")


def scores_of(seed=0):
    """A row of each kind, one with a list of seven items.

    The best item of user 0 is the first relevant one of user 1.
    """
    rng = np.random.default_rng(seed)
    scores = np.stack([HOSTILE[kind](rng, N_ITEMS) for kind in KINDS])
    scores[0, 0] = 9
    short = scores[KINDS.index("-inf but for 37")]
    short[np.flatnonzero(short > -np.inf)[7:]] = -np.inf
    return scores


def truth_of(grades, seed=1):
    """Half of the items of most users, the first item among them, but none of user 0.

    User 1 has up to three relevant items, user 2 has all, and user ``UNTIED`` few of the best.
    """
    rng = np.random.default_rng(seed)
    truth = (rng.random((len(KINDS), N_ITEMS)) < 0.5).astype(float)
    truth[:, 0] = 1
    truth[0] = 0
    truth[1, 3:] = 0
    truth[2] = 1
    best = np.argsort(-scores_of()[UNTIED])
    truth[UNTIED, best[:20]] = 0
    truth[UNTIED, best[[0, 4, 7]]] = 1
    if grades == "threes":
        truth *= 3
    elif grades == "one to five":
        truth *= rng.integers(1, 6, truth.shape)
    elif grades == "distinct":
        truth *= (rng.permutation(truth.size).reshape(truth.shape) + 1) / truth.size * 5
    return truth


def csr(truth, items, values):
    """Convert a dense truth to CSR with these dtypes."""
    stored = sp.csr_array(truth)
    return sp.csr_array(
        (stored.data.astype(values), stored.indices.astype(items), stored.indptr.astype(items)),
        shape=truth.shape,
    )


def read_only(truth):
    truth = truth.astype(np.float32)
    truth.flags.writeable = False
    return truth


BINARY = {
    "bool": lambda truth: truth > 0,
    "bool of other bytes": lambda truth: (7 * (truth > 0)).astype(np.uint8).view(np.bool_),
    "CSR of bool": lambda truth: csr(truth, np.int32, np.bool_),
    "lists": lambda truth: [np.flatnonzero(row) for row in truth],
}
GRADED = {
    "CSR of int32 and float32": lambda truth: csr(truth, np.int32, np.float32),
    "CSR of int64 and float64": lambda truth: csr(truth, np.int64, np.float64),
    "CSR of big-endian numbers": lambda truth: csr(truth, np.int32, ">f8"),
    "float32": lambda truth: truth.astype(np.float32),
    "float64": lambda truth: truth,
    "int64": lambda truth: truth.astype(np.int64),
    "uint16": lambda truth: truth.astype(np.uint16),
    "big-endian": lambda truth: truth.astype(">f4"),
    "Fortran order": np.asfortranarray,
    "every second row": lambda truth: np.repeat(truth, 2, axis=0)[::2],
    "read-only": read_only,
    "float16": lambda truth: truth.astype(np.float16),  # which is listed, not looked up
}
FORMS = [(form, "binary") for form in BINARY | GRADED]
FORMS += [(form, grades) for form in GRADED for grades in ("threes", "one to five")]
FORMS += [(form, "distinct") for form in ("CSR of int64 and float64", "float64", "Fortran order")]


def excluded_items():
    """Any share of the items of a user, or a few of the best, which are not hidden in a copy."""
    rng = np.random.default_rng(2)
    excluded = []
    for user, row in enumerate(scores_of()):
        items = np.flatnonzero(rng.random(N_ITEMS) < rng.random())
        if user % 2:
            best = np.argsort(-row, kind="stable")[:25]
            items = np.sort(rng.permutation(best)[:20])
        if user == UNTIED:
            items = np.argsort(-row, kind="stable")[:1]
        excluded.append(items)
    return excluded


@functools.cache
def by_definition(grades, excluding):
    """The values of ``TEXTS`` by the definitions."""
    scores = scores_of()
    excluded = excluded_items() if excluding else [np.empty(0, int)] * len(KINDS)
    lists = []
    for row, items in zip(scores, excluded, strict=True):
        ranks = ranks_by_sort(row, items)
        lists.append([int(item) for item in np.argsort(ranks, kind="stable") if ranks[item]])
    return {text: of_lists(parse(text), lists, scores, truth_of(grades)) for text in TEXTS}


@pytest.mark.parametrize("excluding", [False, True])
@pytest.mark.parametrize(("form", "grades"), FORMS)
def test_values_are_those_of_the_definitions(form, grades, excluding):
    given = (BINARY | GRADED)[form](truth_of(grades))
    exclude = excluded_items() if excluding else None
    with looking_up():
        got = Metrics.compute(scores_of(), given, TEXTS, exclude=exclude)
    for text, expected in by_definition(grades, excluding).items():
        np.testing.assert_allclose(got[text], expected, rtol=1e-12, atol=1e-14, err_msg=text)


@pytest.mark.parametrize("form", ["bool", "CSR of int32 and float32"])
def test_blocks_threads_and_python_give_the_same_bits(form):
    scores = scores_of()
    truth = truth_of("binary")
    with looking_up():
        expected = Metrics.compute(scores, truth, TEXTS)
        given = (BINARY | GRADED)[form](truth)
        with patched({"_core.inputs.scores": {"LEAST_SCORES": 0, "_COPY_BYTES": 1 << 14}}):
            assert_identical(Metrics.compute(scores, given, TEXTS, n_threads=2), expected)
    with patched({"_core.selection.matrix": {"compiles": lambda: False}}):  # listed
        assert_identical(Metrics.compute(scores, truth > 0, TEXTS), expected)


def ranks_by_definition(row, allowed, ties):
    """The rank of each item of a row among those ``allowed``, inf where it is none of these."""
    allowed = allowed & (row > -np.inf)
    ordered = np.sort(row[allowed])
    best = 1 + len(ordered) - np.searchsorted(ordered, row, side="right")
    worst = len(ordered) - np.searchsorted(ordered, row, side="left")
    by_index = ranks_by_sort(row, np.flatnonzero(~allowed))
    ranks = {"index": by_index, "best": best, "worst": worst, "expected": (best + worst) / 2}
    return np.where(allowed, ranks[ties], np.inf)


@pytest.mark.parametrize("ties", ["index", "best", "worst", "expected"])
@pytest.mark.parametrize("own_candidates", [False, True])
@pytest.mark.parametrize(
    ("share", "many"),
    [
        (1.0, 1),  # about 700 relevant items: they separate bins
        (1.0, 1 << 60),  # they are compared, and sorted by a table
        (0.12, 1 << 60),  # or without one
    ],
    ids=["bins", "table", "sort"],
)
def test_ranks_among_many_relevant_items(share, many, own_candidates, ties):
    """A row of few values ties hundreds of relevant items; the last row ties relevant pairs alone.

    Every row is there twice, since one user after another is ranked in the same memory.
    """
    rng = np.random.default_rng(3)
    paired = rng.standard_normal(N_ITEMS)
    paired[100:130] = paired[:30]
    scores = np.vstack([scores_of(), paired])
    truth = np.vstack([truth_of("binary"), rng.random(N_ITEMS) < 0.5])
    truth[-1, :30] = truth[-1, 100:130] = 1
    truth *= rng.random(truth.shape) < share
    allowed = rng.random(scores.shape) < 0.9
    scores, truth, allowed = np.repeat([scores, truth, allowed], 2, axis=1)
    allowed = allowed > 0
    if own_candidates:
        options = {"candidates": sp.csr_array(allowed)}
    else:
        options = {"exclude": sp.csr_array(~allowed)}
    with compiled(), patched({"_core.selection.matrix": {"MANY_RELEVANT": {8: many}}}):
        got = Metrics.ranks(scores, truth, ties=ties, **options).toarray()
    for user, row in enumerate(scores):
        ranks = ranks_by_definition(row, allowed[user], ties)
        np.testing.assert_array_equal(got[user], np.where(truth[user] > 0, ranks, 0))


@pytest.mark.parametrize("zeros", [(-0.0, 0.0), (0.0, -0.0)])
def test_zeros_of_both_signs_are_one_score(zeros):
    """Also in bins, whose scale is their difference."""
    scores = np.array([[*zeros, 1, -np.inf]], np.float32)
    truth = np.array([[1, 1, 0, 0]])
    with compiled(), patched({"_core.selection.matrix": {"MANY_RELEVANT": {4: 1}}}):
        got = Metrics.ranks(scores, truth, candidates=np.arange(4)).toarray()
    np.testing.assert_array_equal(got, [[2, 3, 0, 0]])


def slots_of(truth, texts, **options):
    """The slots of the users in the hits that selection finds for these metrics, and R of each."""
    source = read_matrix(scores_of())
    request = Request(texts, **options)
    hits = find_hits(source, read_users(source, truth, {}, request), request).hits
    return np.diff(hits.start), hits.n_relevant


@pytest.mark.parametrize("form", ["float64", "CSR of int32 and float32"])
def test_slots_are_as_many_as_metrics_read(form):
    truth = truth_of("one to five")
    n_relevant = np.count_nonzero(truth, axis=1)
    given = GRADED[form](truth)
    for texts, most in {("ndcg@10", "map@3"): 10, ("err@7",): 7, ("hit@1", "ndcg@99"): 99}.items():
        slots, counted = slots_of(given, texts)
        np.testing.assert_array_equal(slots, np.minimum(n_relevant, most))
        np.testing.assert_array_equal(counted, n_relevant)
    # Users have about 720 relevant items, fewer than six for each of 150 ranks.
    for texts in ("ndcg@150", "recall(rel=2)@10", "ndcg", "fallout@10", "ndcg(ideal_depth=all)@10"):
        slots, counted = slots_of(given, ["hit@10", texts])
        np.testing.assert_array_equal(slots, n_relevant)
        np.testing.assert_array_equal(counted, n_relevant)
    slots, _ = slots_of(given, ["ndcg@10"], ties="expected")
    np.testing.assert_array_equal(slots, n_relevant)


@pytest.mark.parametrize("form", GRADED)
def test_the_best_items_are_looked_up_in_many_relevant_ones(form, monkeypatch):
    scores = scores_of()
    truth = truth_of("one to five")
    calls = []
    best_items = matrix.MatrixRanker._best_items
    monkeypatch.setattr(
        matrix.MatrixRanker, "_best_items", lambda *args: calls.append(1) or best_items(*args)
    )
    with looking_up():
        Metrics.compute(scores, GRADED[form](truth), ["ndcg@10"])
        assert calls
        calls.clear()
        few = np.where(np.arange(N_ITEMS) < 30, truth, 0)  # fewer than six for each rank
        Metrics.compute(scores, GRADED[form](few), ["ndcg@10"])
        assert not calls


@pytest.mark.parametrize("form", ["bool", "CSR of int32 and float32"])
def test_a_list_that_is_made_anyway_has_the_hits(form, monkeypatch):
    """It is cut at the rank to which hits are read, and an item behind that rank is no hit."""
    scores = scores_of()
    truth = np.where(np.arange(N_ITEMS) < 30, truth_of("binary"), 0)
    truth[UNTIED, np.argsort(-scores[UNTIED])[:20]] = 1
    given = (BINARY | GRADED)[form](truth)
    with looking_up():
        expected = Metrics.compute(scores, given, TEXTS)
        monkeypatch.setattr(matrix.MatrixRanker, "_fill_from_rows", None)
        got = Metrics.compute(scores, given, [*TEXTS, "coverage@30"])
    for text in TEXTS:
        np.testing.assert_array_equal(got[text], expected[text], err_msg=text)


def test_lists_are_read_beside_many_relevant_items():
    scores = scores_of()
    truth = truth_of("binary") > 0
    texts = ["ndcg@10", "coverage@3", "novelty@20"]
    options = {"popularity": np.linspace(0.1, 1, N_ITEMS)}
    with looking_up():
        together = Metrics.compute(scores, truth, texts, **options)
        apart = {
            text: Metrics.compute(scores, sp.csr_array(truth), [text], **options)[text]
            for text in texts
        }
    assert_identical(together, apart)


@pytest.mark.parametrize("n_relevant", [2, 700])  # listed, and looked up
@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf, 1e200])
def test_a_refused_relevance_is_named(wrong, n_relevant):
    truth = np.zeros((40, N_ITEMS))
    truth[:, 700 : 700 + n_relevant] = 2
    truth[33, 702] = wrong
    scores = np.random.default_rng(0).random(truth.shape)
    expected = (
        rf"truth must hold relevances from 0 to 1e\+100, got {wrong:g} at \(user 33, item 702\)"
    )
    with looking_up(), pytest.raises(InputError, match=expected.replace("1e+200", r"1e\+200")):
        Metrics.compute(scores, truth, ["ndcg@10"])


def test_nan_scores_are_named_where_items_are_looked_up():
    truth = truth_of("binary") > 0
    scores = scores_of()
    scores[4, 1_000] = scores[9, 3] = np.nan
    with looking_up(), pytest.raises(NaNScoreError, match=r"2 NaN.*user 4, item 1000"):
        Metrics.compute(scores, truth, ["ndcg@10"])
    with looking_up():
        got = Metrics.compute(scores, truth, ["ndcg@10"], nan="exclude")
    lowest = np.where(np.isnan(scores), -np.inf, scores)
    assert_identical(got, Metrics.compute(lowest, truth, ["ndcg@10"]))


def test_swallowed_users_are_counted_where_few_items_are_kept():
    truth = truth_of("one to five")
    with looking_up(), pytest.warns(match="exclude holds all relevant items of 14 of the 14 users"):
        Metrics.compute(scores_of(), sp.csr_array(truth), ["ndcg@10"], exclude=truth > 0)


def test_notes_name_the_lowest_grade_where_few_are_kept():
    """The ten largest grades of a user with many relevant items are all 5."""
    truth = truth_of("one to five")
    truth[1] = 0
    with looking_up():
        notes = Metrics.evaluate(scores_of(), truth, ["ndcg@10"]).notes
    assert any("truth graded, 1 to 5" in note for note in notes)


def test_batches_of_a_stream_look_up_too():
    scores = scores_of()
    truth = truth_of("one to five")
    stream = StreamEvaluator(["ndcg@10", "err(max_rel=5)@10"])
    with looking_up():
        for rows in (slice(0, 7), slice(7, None)):
            stream.update(scores[rows], truth[rows])
        expected = Metrics.compute(scores, sp.csr_array(truth), ["ndcg@10", "err(max_rel=5)@10"])
    assert_identical(stream.compute(), expected)


def test_kernels_are_compiled_from_some_work_on(monkeypatch):
    for mode, work, expected in (
        ("always", 0.0, True),
        ("never", np.inf, False),
        ("auto", 0.0, False),
        ("auto", jit._WORK_TO_COMPILE, True),
    ):
        monkeypatch.setattr(jit, "_mode", lambda mode=mode: mode)
        monkeypatch.setattr(jit._Work, "total", work)
        assert jit.compiles() is expected
