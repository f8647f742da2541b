"""How much two lists of one user have in common, against definitions typed from the papers."""

import inspect
import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import compiled
from problems import JIT, SCORES, as_index_arrays, cells, item_lists, listed_items

import recmetrics
from recmetrics import (
    ArgumentError,
    InputError,
    Metrics,
    MetricSpecError,
    NaNScoreError,
    ShapeError,
    UnknownMetricError,
    UnknownOptionError,
    overlap,
    overlap_ranked,
)
from recmetrics._core.metrics import MEASURES

P = 0.5
FORMS = ["ext", "min", "sum", "norm"]
AT_K = [*(f"rbo(p=0.8, form={form})@3" for form in FORMS), "overlap@3", "jaccard@3", "rbo@1"]
WHOLE = [*(f"rbo(p=0.4, form={form})" for form in FORMS), "overlap", "jaccard"]
EVERY = [*AT_K, *WHOLE]


# --- The definitions -----------------------------------------------------------------------------


def common(a, b, d):
    """X_d of the paper."""
    return len(set(a[:d]) & set(b[:d]))


def rbo_ext(a, b, p):
    """Equation 32 of Webber, Moffat and Zobel, as it is printed."""
    shorter, longer = sorted((a, b), key=len)
    s, n = len(shorter), len(longer)
    x = [common(a, b, d) for d in range(n + 1)]
    seen = sum(x[d] / d * p**d for d in range(1, n + 1))
    beyond = sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * (seen + beyond) + ((x[n] - x[s]) / n + x[s] / s) * p**n


def rbo_min(a, b, p):
    """Equation 11."""
    k = max(len(a), len(b))
    x_k = common(a, b, k)
    seen = sum((common(a, b, d) - x_k) * p**d / d for d in range(1, k + 1))
    return (1 - p) / p * (seen - x_k * math.log(1 - p))


def rbo_sum(a, b, p):
    """The sum that defines RBO, down to the end of the longer list."""
    k = max(len(a), len(b))
    return (1 - p) * sum(p ** (d - 1) * common(a, b, d) / d for d in range(1, k + 1))


def rbo_norm(a, b, p):
    """The sum divided by its weights, as LensKit has it."""
    weights = [p ** (d - 1) for d in range(1, max(len(a), len(b)) + 1)]
    return rbo_sum(a, b, p) / ((1 - p) * sum(weights))


RBO = {"ext": rbo_ext, "min": rbo_min, "sum": rbo_sum, "norm": rbo_norm}


def by_definition(text, a, b):
    """The measure of two lists of one user."""
    spec, _, k = text.partition("@")
    name, _, options = spec.partition("(")
    options = dict(each.split("=") for each in options.rstrip(")").split(", ") if each)
    a, b = (each[: int(k)] if k else each for each in (a, b))
    if not a or not b:
        return 0.0 if a or b else math.nan
    if name == "overlap":
        return len(set(a) & set(b)) / max(len(a), len(b))
    if name == "jaccard":
        return len(set(a) & set(b)) / len(set(a) | set(b))
    return RBO[options.get("form", "ext")](a, b, float(options.get("p", 0.9)))


def all_by_definition(texts, lists_a, lists_b):
    pairs = list(zip(lists_a, lists_b, strict=True))
    return {text: [by_definition(text, a, b) for a, b in pairs] for text in texts}


def assert_close(found, expected):
    assert list(found) == list(expected)
    for text, values in expected.items():
        np.testing.assert_allclose(found[text], values, rtol=1e-12, atol=1e-14, err_msg=text)


@st.composite
def pairs_of_lists(draw, n_items=9):
    """Two lists of a few users, of any lengths."""
    n_users = draw(st.integers(1, 4))
    lists = item_lists(n_users, n_items)
    return draw(lists), draw(lists)


@settings(deadline=None)
@given(pairs_of_lists(), st.sampled_from([0.01, 0.5, 0.9, 0.999]), st.integers(1, 12))
def test_rankings_have_the_values_of_the_definitions(lists, p, k):
    texts = [f"rbo(p={p}, form={form}){at}" for form in FORMS for at in ("", f"@{k}")]
    texts += [f"{name}{at}" for name in ("overlap", "jaccard") for at in ("", f"@{k}")]
    a, b = (as_index_arrays(each) for each in lists)
    found = overlap_ranked(a, b, texts)
    assert_close(found, all_by_definition(texts, *lists))
    assert_identical(overlap_ranked(b, a, texts), found)


@st.composite
def models(draw):
    """The scores of two models with many ties and -inf, exclude and candidates."""
    n_users, n_items = draw(st.integers(1, 4)), draw(st.integers(1, 12))

    def scores():
        return np.array(SCORES)[draw(cells(n_users, n_items)) % len(SCORES)]

    sets = st.none() | item_lists(n_users, n_items)
    return scores(), scores(), draw(sets), draw(sets)


@settings(deadline=None)
@given(models())
def test_scores_have_the_values_of_their_lists(problem):
    a, b, exclude, candidates = problem
    lists = [
        [
            listed_items(
                row,
                () if exclude is None else exclude[user],
                None if candidates is None else candidates[user],
            )
            for user, row in enumerate(scores)
        ]
        for scores in (a, b)
    ]
    sets = {"exclude": as_index_arrays(exclude), "candidates": as_index_arrays(candidates)}
    found = overlap(a, b, EVERY, **sets)
    assert_close(found, all_by_definition(EVERY, *lists))
    assert_identical(overlap(b, a, EVERY, **sets), found)
    assert_identical(overlap_ranked(*map(as_index_arrays, lists), EVERY), found)


# --- Worked by hand ------------------------------------------------------------------------------

# X = 0, 2, 2 and A = 0, 1, 2/3.
A, B = [[0, 1, 2]], [[1, 0, 3]]
SUM = 1 / 2 * 0 + 1 / 4 * 1 + 1 / 8 * 2 / 3
BY_HAND = {
    "overlap@1": 0 / 1,
    "overlap@2": 2 / 2,
    "overlap@3": 2 / 3,
    "overlap@10": 2 / 3,  # both lists have three ranks
    "jaccard@1": 0 / 2,
    "jaccard@2": 2 / 2,
    "jaccard@3": 2 / 4,
    "rbo(p=0.5)": SUM + 1 / 8 * 2 / 3,
    "rbo(p=0.5)@2": 1 / 4 + 1 / 4,
    "rbo(p=0.5)@1": 0.0,
    "rbo(p=0.5, form=sum)": SUM,
    "rbo(p=0.5, form=norm)": SUM / (1 / 2 + 1 / 4 + 1 / 8),
    # 1/16 * 2/4 + 1/32 * 2/5 + ... = 2 * (ln 2 - 1/2 - 1/4 / 2 - 1/8 / 3)
    "rbo(p=0.5, form=min)": SUM + 2 * (math.log(2) - 1 / 2 - 1 / 8 - 1 / 24),
}


@pytest.mark.parametrize("text", BY_HAND)
def test_hand_worked(text):
    assert overlap_ranked(A, B, text)[text] == pytest.approx([BY_HAND[text]], rel=1e-14)


def test_hand_worked_uneven():
    # S = 0, 1 and L = 2, 0, 1, 3: X = 0, 1, 2, 2; extrapolated, A_3 = (2 - 1)/3 + 1/2 and
    # A_4 = (2 - 1)/4 + 1/2.
    found = overlap_ranked([[0, 1, -1, -1]], [[2, 0, 1, 3]], ["rbo(p=0.5)", "overlap", "jaccard"])
    seen = 1 / 4 * 1 / 2 + 1 / 8 * (1 / 3 + 1 / 2) + 1 / 16 * (1 / 4 + 1 / 2)
    assert_close(
        found,
        {"rbo(p=0.5)": [seen + 1 / 16 * (1 / 4 + 1 / 2)], "overlap": [2 / 4], "jaccard": [2 / 4]},
    )


def test_an_empty_list():
    a, b = [[], [0], []], [[], [], [1, 2]]
    for values in overlap_ranked(a, b, EVERY).values():
        np.testing.assert_array_equal(values, [np.nan, 0.0, 0.0])
    low = np.full((1, 3), -np.inf)
    assert np.isnan(overlap(low, low, "rbo@2")["rbo@2"][0])
    assert overlap(low, np.zeros((1, 3)), "rbo@2")["rbo@2"] == [0.0]


@pytest.mark.parametrize("shape", [(0, 3), (0, 0), (2, 0)])
def test_nothing_to_compare(shape):
    values = [*overlap(np.zeros(shape), np.zeros(shape), EVERY).values()]
    values += overlap_ranked(np.zeros(shape, int)[:, :0], [[]] * shape[0], EVERY).values()
    for each in values:
        np.testing.assert_array_equal(each, np.full(shape[0], np.nan))


def test_without_a_jit_nothing_warns_of_extreme_p():
    with np.errstate(all="raise"):
        for p in ("1e-300", "5e-324", "0.9999999999999999"):
            values = overlap_ranked(A, A, [f"rbo(p={p}, form={form})" for form in FORMS])
            assert next(iter(values.values())) == [1.0]
            assert all(0 <= value <= 1 for each in values.values() for value in each)


def test_rounding_does_not_lead_out_of_the_bounds():
    texts = [f"rbo(p={p / 100}, form={form})" for p in range(1, 100) for form in FORMS]
    items = np.arange(300)
    last_in_both = np.append(items[:-1] + 1000, 299)
    for values in overlap_ranked([items, items], [items, last_in_both], texts).values():
        assert (values >= 0).all()
        assert (values <= 1).all()


# --- Any form of models --------------------------------------------------------------------------

N_USERS, N_ITEMS = (150, 200) if JIT else (60, 90)
RNG = np.random.default_rng(4)
USERS = [RNG.integers(-2, 3, (N_USERS, 4)).astype(np.float32)] * 2
ITEMS = [RNG.integers(-2, 3, (N_ITEMS, 4)).astype(np.float32)] * 2
USERS[1] = USERS[0] + (RNG.random(USERS[0].shape) < 0.2)  # trained again
BIAS = (RNG.random(N_ITEMS) < 0.2).astype(np.float32)
FACTORS = [(USERS[0], ITEMS[0], BIAS), (USERS[1], ITEMS[1])]
DENSE = [USERS[0] @ ITEMS[0].T + BIAS, USERS[1] @ ITEMS[1].T]
SEEN = sp.random(N_USERS, N_ITEMS, 0.05, "csr", random_state=2)
POOL = sp.random(N_USERS, N_ITEMS, 0.1, "csr", random_state=3)
CASES = {
    "all items": {},
    "exclude": {"exclude": SEEN},
    "shared candidates": {"candidates": np.arange(0, N_ITEMS, 3)},
    "own candidates less exclude": {"candidates": POOL, "exclude": SEEN},
    "dense sets": {"exclude": SEEN.toarray(), "candidates": POOL.toarray() != 0},
}
FORMS_OF_SCORES = {
    "float16": lambda scores: scores.astype(np.float16),
    "int8, Fortran": lambda scores: np.asfortranarray(scores.astype(np.int8)),
    "lists": lambda scores: scores.tolist(),
    "tuple of rows": lambda scores: tuple(scores.tolist()),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("texts", [AT_K, WHOLE], ids=["at k", "whole"])
def test_threads_blocks_and_factors_do_not_change_a_bit(case, texts, request):
    sets, blocks = CASES[case], []
    expected = overlap(*DENSE, texts, n_threads=1, **sets)
    assert len(np.unique(expected[texts[0]])) > 5
    request.getfixturevalue("small_blocks")
    for n_threads in (1, 2):
        overlap(*DENSE, texts, n_threads=n_threads, progress=lambda *done: blocks.append(done))
        assert len(blocks) > 10
        for a in (DENSE[0], FACTORS[0]):
            for b in (DENSE[1], FACTORS[1]):
                assert_identical(overlap(a, b, texts, n_threads=n_threads, **sets), expected)
                assert_identical(overlap(b, a, texts, n_threads=n_threads, **sets), expected)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("form", FORMS_OF_SCORES)
def test_the_form_of_scores_does_not_change_a_bit(form):
    expected = overlap(*DENSE, EVERY, exclude=SEEN)
    other = FORMS_OF_SCORES[form]
    assert_identical(overlap(other(DENSE[0]), DENSE[1], EVERY, exclude=SEEN), expected)
    assert_identical(overlap(DENSE[0], other(DENSE[1]), EVERY, exclude=SEEN), expected)


@pytest.mark.usefixtures("small_blocks")
def test_rankings_of_the_scores_give_the_same():
    ranked = [np.argsort(-scores, axis=1, kind="stable") for scores in DENSE]
    expected = overlap(*DENSE, EVERY)
    for n_threads in (1, 2):
        assert_identical(overlap_ranked(*ranked, EVERY, n_threads=n_threads), expected)
    cut = overlap_ranked(*(each[:, :3] for each in ranked), AT_K)
    assert_identical(cut, {text: expected[text] for text in AT_K})


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("sets", [{}, {"exclude": SEEN, "candidates": POOL}], ids=["all", "sets"])
def test_of_sparse_scores_only_stored_entries_are_compared(sets):
    stored = sp.random(N_USERS, N_ITEMS, 0.1, "csr", random_state=5)
    dense = np.full(stored.shape, -np.inf)
    dense[stored.nonzero()] = stored[stored.nonzero()]
    expected = overlap(dense, DENSE[1], EVERY, **sets)
    assert_identical(overlap(stored, DENSE[1], EVERY, **sets), expected)
    assert_identical(overlap(DENSE[1], stored.tocsc(), EVERY, **sets), expected)
    assert_identical(overlap(FACTORS[1], stored, EVERY, **sets), expected)
    assert_identical(overlap(stored, stored, ["overlap@5"]), {"overlap@5": np.ones(N_USERS)})


@pytest.mark.usefixtures("small_blocks")
def test_the_blocks_are_those_of_the_dense_matrix():
    """A block of few stored scores has many users, too many for dense ones, and one thread."""

    def blocks(a, b):
        seen = []
        overlap(a, b, "rbo@3", n_threads=1, progress=lambda *done: seen.append(done))
        return seen

    stored = sp.csr_array(np.eye(N_USERS, N_ITEMS) * 2)
    expected = blocks(*DENSE)
    assert blocks(stored, DENSE[0]) == blocks(DENSE[0], stored) == expected
    assert len(blocks(stored, stored)) < len(expected)


@pytest.mark.parametrize("texts", [AT_K, WHOLE], ids=["at k", "whole"])
def test_a_device(texts):
    pytest.importorskip("torch", reason="torch is not installed")
    from elsewhere import elsewhere

    expected = overlap(*DENSE, texts, candidates=POOL, exclude=SEEN)
    tensors = [elsewhere(scores) for scores in DENSE]
    models = [tuple(map(elsewhere, model)) for model in FACTORS]
    for a in (DENSE[0], tensors[0], models[0]):
        for b in (FACTORS[1], tensors[1], models[1]):
            assert_identical(overlap(a, b, texts, candidates=POOL, exclude=SEEN), expected)


def test_nested_lists_are_factors_where_each_entry_is_a_matrix():
    model = (USERS[0][:2].tolist(), ITEMS[0][:3].tolist(), BIAS[:3].tolist())
    arrays = ([*USERS[1][:2]], ITEMS[1][:3])
    expected = overlap(DENSE[0][:2, :3], DENSE[1][:2, :3], EVERY)
    assert_identical(overlap(model, arrays, EVERY), expected)


def test_items_of_a_large_catalogue_need_no_table_of_it():
    ranked = [np.argsort(-scores, axis=1, kind="stable")[:, :5] for scores in DENSE]
    far = [np.where(each < 50, each, each + (1 << 60)) for each in ranked]
    far[0][7, 3:] = ranked[0][7, 3:] = -1
    assert_identical(overlap_ranked(*far, EVERY), overlap_ranked(*ranked, EVERY))
    a, b = np.zeros((2, 2, 5_000))
    a[:, [4_000, 17]] = b[:, [17, 4_000]] = 2.0, 1.0
    assert_close(overlap(a, b, ["rbo(p=0.5)@2"]), {"rbo(p=0.5)@2": [1 / 4 + 1 / 4] * 2})


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.needs_jit
def test_memory_does_not_grow_with_the_lists():
    a, b = np.random.default_rng(0).random((2, 1500, 2000), np.float32)
    with compiled():
        overlap(a[:2], b[:2], EVERY)
    tracemalloc.start()
    overlap(a, b, EVERY, n_threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < a.size * 8 / 4  # a quarter of the lists of one of the two models


# --- Invalid items -------------------------------------------------------------------------------

GENERATED = [[4, 4, 1, 9, 0, 9]]  # 4 again, and 9, which is outside the catalogue


@pytest.mark.parametrize(
    ("policy", "ranks"), [("drop", [4, 1, 0]), ("waste", [4, "repeat", 1, "unknown", 0])]
)
def test_invalid_items_are_dropped_or_waste_their_rank(policy, ranks):
    other = [0, 1, 3, 4]
    found = overlap_ranked(
        GENERATED, [other], EVERY, n_items=5, repeats=policy, unknown=policy, n_threads=2
    )
    assert_close(found, all_by_definition(EVERY, [ranks], [other]))
    for text in EVERY:  # what is asked beside it does not matter
        alone = overlap_ranked([other], GENERATED, text, n_items=5, repeats=policy, unknown=policy)
        assert_identical(alone, {text: found[text]})


# --- Against other packages ----------------------------------------------------------------------

DRAWN = [
    ([RNG.permutation(30)[:length] for length in (10, 15, 7)], RNG.permutation(30)[:n])
    for n in (10, 15, 7, 3)
]
LISTS = [(a.tolist(), b.tolist()) for firsts, b in DRAWN for a in firsts]


@pytest.mark.parametrize("p", [0.3, 0.9, 0.98])
def test_the_package_rbo(p):
    package = pytest.importorskip("rbo", reason="rbo is not installed")
    similarities = [package.RankingSimilarity(a, b) for a, b in LISTS]
    a, b = zip(*LISTS, strict=True)
    texts = [f"rbo(p={p})", f"rbo(p={p})@3", f"rbo(p={p}, form=sum)@3"]
    expected = (
        [each.rbo_ext(p=p) for each in similarities],
        [each.rbo(k=3, p=p, ext=True) for each in similarities],
        [each.rbo(k=3, p=p) for each in similarities],
    )
    assert_close(overlap_ranked(a, b, texts), dict(zip(texts, expected, strict=True)))


@pytest.mark.parametrize(("p", "k"), [(0.85, 3), (0.5, 2), (0.98, 1)])
def test_lenskit(p, k):
    reason = "LensKit is not installed"
    reranking = pytest.importorskip("lenskit.metrics.reranking", reason=reason)
    data = pytest.importorskip("lenskit.data", reason=reason)
    weight = pytest.importorskip("lenskit.metrics", reason=reason).GeometricRankWeight(p)
    expected = [
        reranking.rank_biased_overlap(
            *(data.ItemList(items, ordered=True) for items in pair), weight, k
        )
        for pair in LISTS
    ]
    a, b = zip(*LISTS, strict=True)
    text = f"rbo(p={p}, form=norm)@{k}"
    assert_close(overlap_ranked(a, b, text), {text: expected})


# --- Strings -------------------------------------------------------------------------------------


def test_strings_are_read_as_those_of_metrics():
    texts = ["RBO( p = 0.5 , FORM = Ext ) @ 2", " overlap @2", "rbo"]
    found = overlap_ranked(A, B, texts)
    assert list(found) == texts
    assert found[texts[0]] == overlap_ranked(A, B, "rbo(p=0.5)@2")["rbo(p=0.5)@2"]
    assert found["rbo"] == overlap_ranked(A, B, ["rbo(p=0.9, form=ext)"])["rbo(p=0.9, form=ext)"]
    assert list(overlap_ranked(A, B, (text for text in texts))) == texts


def test_the_docstring_shows_every_measure_and_its_options():
    for name, measure in MEASURES.items():
        options = ", ".join(f"{o.name}={o.default}" for o in measure.options.values())
        assert f"``{name}{f'({options})' if options else ''}``" in overlap.__doc__
        for option in measure.options.values():
            for choice in option.choices:
                assert f"{option.name}={choice}" in overlap.__doc__


LIST = "measures such as ['rbo(p=0.9)@10', 'overlap@10']"
EXPECTED = "expected 'name', 'name@k' or 'name(option=value, ...)@k', such as 'rbo(p=0.9)@10'"


@pytest.mark.parametrize(
    ("measures", "error", "message"),
    [
        ([], MetricSpecError, f"measures is empty; expected {LIST}"),
        (None, MetricSpecError, f"measures must be a list of {LIST}, got None"),
        ("rbo(", MetricSpecError, f"cannot read measure 'rbo('; {EXPECTED}"),
        (
            "overlop@10",
            UnknownMetricError,
            "in measure 'overlop@10': unknown measure 'overlop'; did you mean 'overlap'?",
        ),
        (
            "overlap@1:3",
            MetricSpecError,
            "in measure 'overlap@1:3': a measure has no range of cutoffs, got '1:3'; give a "
            "measure for each cutoff",
        ),
        (
            "kendall",
            UnknownMetricError,
            "in measure 'kendall': unknown measure 'kendall'; choose from rbo, overlap, jaccard",
        ),
        (
            "rbp@10",
            UnknownMetricError,
            "in measure 'rbp@10': unknown measure 'rbp'; it is a metric of one model and a truth, "
            "for Metrics.compute; measures of two lists are rbo, overlap, jaccard",
        ),
        (
            "overlap(p=0.5)@3",
            UnknownOptionError,
            "in measure 'overlap(p=0.5)@3': measure 'overlap' has no option 'p'; it takes none",
        ),
    ],
)
def test_a_wrong_string(measures, error, message):
    assert message_of(error, overlap_ranked, A, B, measures) == message


# --- Errors --------------------------------------------------------------------------------------

GOOD, OTHER = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)[:, ::-1]
OF_SCORES = [
    ((GOOD, OTHER[:2]), {}, ShapeError, "a and b must have the same users and items, got (3, 4) "
     "and (2, 4)"),
    ((GOOD, OTHER.T), {}, ShapeError, "a and b must have the same users and items, got (3, 4) and "
     "(4, 3); it looks transposed: type b.T"),
    ((GOOD, [1.0, 2.0]), {}, ShapeError, "in b: scores must be 2-d (n_users, n_items), got 1-d of "
     "shape (2,); for one user type np.atleast_2d(scores); Metrics.compute_groups(..., "
     "ids=ids) reads rows of groups, such as queries"),
    (((GOOD, OTHER[:, :2]), OTHER), {}, ShapeError, "in a: user_factors (n_users, d) and "
     "item_factors (n_items, d) must have the same d, got (3, 4) and (3, 2)"),
    ((GOOD, OTHER), {"exclude": np.eye(3)}, ShapeError, "exclude must have the users and items of "
     "a and b, (3, 4), got (3, 3)"),
    ((GOOD, OTHER), {"candidates": sp.csr_array((4, 3))}, ShapeError, "candidates must have the "
     "users and items of a and b, (3, 4), got (4, 3); it looks transposed: type candidates.T"),
    ((GOOD, OTHER), {"nan": "keep"}, ArgumentError, "nan must be 'raise' or 'exclude', got 'keep'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("models", "keywords", "error", "message"), OF_SCORES, ids=[each[3][:40] for each in OF_SCORES]
)
def test_models_that_cannot_be_compared(models, keywords, error, message):
    assert message_of(error, overlap, *models, "rbo@2", **keywords) == message


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_nan_of_either_model_is_counted_over_all_users(n_threads):
    bad = DENSE[1].copy()
    bad[[N_USERS - 1, 31, 31], [5, 9, 8]] = np.nan
    ending = "scores hold 3 NaN, the first at (user 31, item 8);"
    for models, name in (
        ((DENSE[0], bad), "b"),
        ((bad, DENSE[0]), "a"),
        ((FACTORS[0], bad), "b"),
        ((bad, FACTORS[0]), "a"),
    ):
        assert message_of(NaNScoreError, overlap, *models, "rbo@2", n_threads=n_threads).startswith(
            f"in {name}: {ending}"
        )
    found = overlap(DENSE[0], bad, EVERY, nan="exclude")
    assert_identical(found, overlap(DENSE[0], np.where(np.isnan(bad), -np.inf, bad), EVERY))


OF_RANKINGS = [
    (([[0]], [[0], [1]]), {}, ShapeError, "a and b must have rankings of the same users, got those "
     "of 1 and 2"),
    (([[0], [1, 0, 1]], [[0], [1]]), {}, InputError, "in a: ranking of user 1 names at rank 3 "
     "item 1 twice; expected each item once; type repeats='waste' or repeats='drop' to accept such "
     "items"),
    (([[0], [1]], [[0], [7]]), {"n_items": 5}, InputError, "in b: ranking of user 1 names at rank "
     "1 item 7, which is outside the catalogue; expected 0 .. 4, or -1; type unknown='waste' "
     "or unknown='drop' to accept such items"),
    (([[0]], [[0]]), {"unknown": "drop"}, ArgumentError, "unknown='drop' needs the size of the "
     "catalogue; type n_items="),
    (([[0]], [[0]]), {"repeats": "keep"}, ArgumentError, "repeats must be 'raise', 'waste' or "
     "'drop', got 'keep'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rankings", "keywords", "error", "message"),
    OF_RANKINGS,
    ids=[each[3][:40] for each in OF_RANKINGS],
)
def test_rankings_that_cannot_be_compared(rankings, keywords, error, message):
    assert message_of(error, overlap_ranked, *rankings, "rbo@2", **keywords) == message


def test_the_keywords_are_those_of_compute():
    shared = inspect.signature(Metrics.compute).parameters
    for function, own in ((overlap, set()), (overlap_ranked, {"n_items", "repeats", "unknown"})):
        parameters = inspect.signature(function).parameters
        assert list(parameters)[:3] == ["a", "b", "measures"]
        for name in set(parameters) - own - {"a", "b", "measures"}:
            assert parameters[name] == shared[name]
    with pytest.raises(TypeError, match=r"^overlap\(\) got an unexpected keyword argument 'ties'$"):
        recmetrics.overlap(GOOD, OTHER, "rbo", ties="index")
