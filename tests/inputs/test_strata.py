"""Metrics of the relevant items of a stratum: the same bits as with a truth masked by hand."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from asserts import assert_identical, message_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import METRICS, parse
from problems import problems, side_information

import recmetrics
from recmetrics import (
    ArgumentError,
    Evaluator,
    InputError,
    InputTypeError,
    Metrics,
    ShapeError,
    StreamEvaluator,
    UndefinedMetricError,
    UnknownOptionError,
    explain,
)

OF_HITS = [name for name, metric in METRICS.items() if metric.reads == "hits"]
OPTIONS = {"ndcg": "gain=exp2", "recall": "denom=relevant", "dcg": "rel=2", "map": "denom=relevant"}
TEXTS = [
    (f"{name}({OPTIONS.get(name, '')}){cut}".replace("()", ""), name)
    for name in OF_HITS
    for cut in ("", "@1", "@3")
    if not (name == "auc" and cut)
]


def of(text, stratum):
    """The metric string of a stratum."""
    spec = parse(text)
    options = ", ".join([*(f"{name}={value}" for name, value in spec.options), f"of={stratum}"])
    return f"{spec.name}({options})" + ("" if spec.k is None else f"@{spec.k}")


@settings(deadline=None, max_examples=25)
@given(
    problem=problems(),
    seed=st.integers(0, 1000),
    ties=st.sampled_from(["index", "expected", "worst", "best"]),
)
def test_a_stratum_masks_the_truth(problem, seed, ties):
    scores, truth, *given = problem
    exclude, candidates = (sets and [np.array(items, np.int64) for items in sets] for sets in given)
    rng = np.random.default_rng(seed)
    tail = rng.random(truth.shape[1]) < rng.choice([0.0, 0.5, 1.0])
    bought = rng.random(truth.shape) < 0.4
    sets = {"exclude": exclude, "candidates": candidates, "ties": ties}
    strata = {"tail": tail, "bought": sp.csr_array(bought)}
    texts = [text for text, _ in TEXTS]
    asked = [*texts, *(of(text, name) for text in texts for name in strata)]
    got = Metrics.compute(scores, truth, asked, strata=strata, **sets)
    for name, mask in {"tail": tail, "bought": bought}.items():
        expected = Metrics.compute(scores, truth * mask, texts, **sets)
        for text in texts:
            np.testing.assert_array_equal(got[of(text, name)], expected[text], err_msg=text)
    expected = Metrics.compute(scores, truth, texts, **sets)  # beside them, all items still count
    assert_identical({text: got[text] for text in texts}, expected)


def test_hand_worked_values():
    scores, truth = [[5, 4, 3, 2, 1]], np.array([[1, 0, 1, 0, 1]])  # ranks 1, 3 and 5
    strata = {"tail": [2, 4], "head": np.array([True, True, False, False, False])}
    texts = ["recall(of=tail)@3", "mrr(of=tail)", "mrr(of=head)", "precision(of=tail)@4"]
    values = Metrics.compute(scores, truth, texts, strata=strata)
    assert [float(values[text][0]) for text in texts] == [1 / 2, 1 / 3, 1 / 1, 1 / 4]


# --- Every entry point ---------------------------------------------------------------------------

N_USERS, N_ITEMS = 30, 40
RNG = np.random.default_rng(1)
SCORES = RNG.integers(0, 20, (N_USERS, N_ITEMS)).astype(np.float32)
TRUTH = RNG.integers(0, 3, (N_USERS, N_ITEMS)) * (RNG.random((N_USERS, N_ITEMS)) < 0.2)
TAIL = RNG.random(N_ITEMS) < 0.5
BOUGHT = RNG.random((N_USERS, N_ITEMS)) < 0.3
STRATA = {"tail": TAIL, "bought": BOUGHT}
ASKED = ["recall@5", "recall(of=tail)@5", "ndcg(of=bought)@10", "mrr(of=bought)"]
MASKED = {"recall(of=tail)@5": TAIL, "ndcg(of=bought)@10": BOUGHT, "mrr(of=bought)": BOUGHT}


def expected_of(**options):
    values = {"recall@5": Metrics.compute(SCORES, TRUTH, "recall@5", **options)["recall@5"]}
    for text, mask in MASKED.items():
        spec = parse(text)
        plain = spec.name if spec.k is None else f"{spec.name}@{spec.k}"
        values[text] = Metrics.compute(SCORES, TRUTH * mask, plain, **options)[plain]
    return values


def test_an_evaluator_is_given_strata_once():
    one, other = (Evaluator(TRUTH, ASKED, strata=STRATA) for _ in range(2))
    batches = np.array_split(np.random.default_rng(0).permutation(N_USERS), 6)
    for number, users in enumerate(batches):
        (one if number % 2 else other).update(SCORES[users], users)
    other = Evaluator.from_state(other.state())
    whole = pickle.loads(pickle.dumps(one.merge(other)))
    assert_identical(whole.compute(), expected_of())


def test_an_evaluator_keeps_its_own_strata():
    strata = {"tail": np.flatnonzero(TAIL), "bought": BOUGHT.astype(float)}
    one = Evaluator(TRUTH, ASKED, strata=strata)
    strata["tail"][:] = 0
    strata["bought"][:] = 0
    one.update(SCORES)
    assert_identical(one.compute(), expected_of())


def test_a_stream_takes_strata_of_items():
    asked = ["recall@5", "recall(of=tail)@5"]
    streams = [StreamEvaluator(asked, strata={"tail": TAIL}) for _ in range(2)]
    for number, rows in enumerate(np.array_split(np.arange(N_USERS), 5)):
        streams[number > 2].update(SCORES[rows], TRUTH[rows])
    expected = {text: expected_of()[text] for text in asked}
    assert_identical(streams[0].merge(streams[1]).compute(), expected)
    with pytest.raises(
        InputError,
        match=r"^strata\['tail'\] names item 40, .* expected 0 \.\. 39; indices begin at",
    ):
        StreamEvaluator(asked, strata={"tail": [3, 40]}).update(SCORES, TRUTH)
    with pytest.raises(InputError, match=r"^scores have 40 items, expected 39, as in"):
        StreamEvaluator(asked, strata={"tail": TAIL[:-1]}).update(SCORES, TRUTH)
    for bought in (BOUGHT, sp.csr_array(BOUGHT), [np.flatnonzero(row) for row in BOUGHT]):
        with pytest.raises(ArgumentError, match=r"strata\['bought'\] has items for each user"):
            StreamEvaluator("mrr(of=bought)", strata={"bought": bought})


def test_methods_have_strata():
    got = Metrics.recall_at_k(SCORES, TRUTH, 5, of="tail", strata=STRATA)
    np.testing.assert_array_equal(got, expected_of()["recall(of=tail)@5"])
    plain = Metrics.recall_at_k(SCORES, TRUTH, 5, of=None)
    np.testing.assert_array_equal(plain, expected_of()["recall@5"])


def test_metrics_of_lists_beside_them_read_the_whole_truth():
    side = side_information(N_USERS, N_ITEMS)
    asked = ["serendipity(rel=2)@5", "coverage@5"]
    got = Metrics.compute(SCORES, TRUTH, [*asked, "mrr(of=tail)"], strata=STRATA, **side)
    expected = Metrics.compute(SCORES, TRUTH, asked, **side)
    assert_identical({text: got[text] for text in asked}, expected)


def test_users_without_items_in_the_stratum_are_undefined():
    asked = "mrr(of=none)"
    options = {"strata": {"none": []}}
    assert np.isnan(Metrics.compute(SCORES, TRUTH, asked, **options)[asked]).all()
    zero = Metrics.compute(SCORES, TRUTH, asked, undefined="zero", **options)[asked]
    assert zero.tolist() == [0.0] * N_USERS
    with pytest.raises(UndefinedMetricError, match=r"mrr\(of=none\) is undefined: 30 of 30"):
        Metrics.compute(SCORES, TRUTH, asked, undefined="raise", **options)
    one = Evaluator(TRUTH, asked, **options)
    one.update(SCORES)
    assert one.counts()[asked].undefined == N_USERS


def test_the_explanation_names_the_stratum():
    assert explain("recall(of=tail)@20").formula.endswith(
        "; relevant: only items in the stratum 'tail'"
    )
    assert "stratum" not in str(explain("recall@20"))


# --- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "text", "strata", "expected"),
    [
        (
            ArgumentError,
            "mrr(of=tail)",
            None,
            "mrr(of=tail) needs the items of 'tail' in strata=, got none; type strata={'tail': "
            "items}",
        ),
        (
            ArgumentError,
            "mrr(of=tial)",
            STRATA,
            "mrr(of=tial) needs the items of 'tial' in strata=, which has 'tail', 'bought'; did "
            "you mean 'tail'?",
        ),
        (
            InputTypeError,
            "mrr(of=tail)",
            [TAIL],
            "strata must be a dict of sets of items by name, got list; type strata={'tail': items}",
        ),
        (
            InputError,
            "mrr(of=tail)",
            {"tail": [3, 40]},
            "strata['tail'] names item 40, which is outside the catalogue; expected 0 .. 39; "
            "indices begin at 0: if these begin at 1 type np.subtract(list(strata['tail']), 1)",
        ),
        (
            ShapeError,
            "mrr(of=tail)",
            {"tail": TAIL[:5]},
            "strata['tail'] as a mask for all users must have n_items = 40 entries, got 5",
        ),
        (
            InputError,
            "mrr(of=tail)",
            {"tail": TAIL.astype(int)},
            "strata['tail'] names item 0 twice; expected each item index once; to drop the repeats "
            "type np.unique(strata['tail']), or np.array(strata['tail'], bool) if this is a mask",
        ),
        (
            UnknownOptionError,
            "coverage(of=tail)@3",
            STRATA,
            "in metric 'coverage(of=tail)@3': metric 'coverage' has no option 'of'; it takes none",
        ),
        (
            UnknownOptionError,
            "mrr(of=a/b)",
            STRATA,
            "in metric 'mrr(of=a/b)': of must be a name of letters, digits, '_', '-' and '.', got "
            "'a/b'",
        ),
    ],
)
def test_what_is_no_stratum_is_refused(error, text, strata, expected):
    assert message_of(error, Metrics.compute, SCORES, TRUTH, text, strata=strata) == expected


def test_groups_say_that_they_have_none():
    assert message_of(
        ArgumentError, Metrics.compute_groups, [1, 2], [0, 1], "mrr(of=tail)", sizes=[2]
    ) == (
        "mrr(of=tail) names a stratum, but groups have no strata; give a truth in which the "
        "items outside the stratum are not relevant, or type Metrics.compute(..., strata=...)"
    )


def test_who_has_no_item_of_a_stratum_is_named_so(capsys):
    strata = {"tail": [1]}
    assert "1 of 1 users has no relevant item in the stratum 'tail', the first" in message_of(
        UndefinedMetricError,
        Metrics.compute,
        [[2, 1]],
        [[1, 0]],
        "hit(of=tail)@1",
        strata=strata,
        undefined="raise",
    )
    scores, truth, metrics = (
        [[2, 1]] * 2,
        [[1, 0], [1, 1]],
        ["hit(of=tail)@1", "mean_rank(of=tail)"],
    )
    values = Metrics.compute(scores, truth, metrics, strata=strata, progress=True)
    who = "1 of 2 users has no relevant item in the stratum 'tail'"
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"left out of hit(of=tail)@1: {who}",
        f"left out of mean_rank(of=tail): {who}, or without a cutoff no item that may be "
        "recommended",
    ]
    (first, _) = recmetrics.summary(values)
    assert first.why == "no relevant item in the stratum 'tail'"


def test_a_stream_names_the_stratum_without_items():
    stream = StreamEvaluator(
        "hit(of=tail)@1", strata={"tail": [1]}, undefined="raise", keep="means"
    )
    stream.update([[2, 1]], [[1, 0]])
    assert message_of(UndefinedMetricError, stream.mean) == (
        "hit(of=tail)@1 is undefined: 1 of 1 events has no relevant item in the stratum 'tail'; "
        "expected a value for every event; give undefined='nan' or 'zero', or leave these events "
        "out"
    )


def test_a_stratum_that_no_metric_names_is_not_read():
    values = Metrics.compute(SCORES, TRUTH, "mrr", strata={"unread": "nonsense"})
    assert values["mrr"].shape == (N_USERS,)


# --- popularity_strata ---------------------------------------------------------------------------


def test_the_tail_is_that_of_long_tail():
    train = (np.random.default_rng(3).random((50, N_ITEMS)) < np.linspace(0.05, 0.9, N_ITEMS)) * 1
    popularity = recmetrics.popularity_from(train)
    for tail in (0.2, 0.5, 0.8):
        strata = recmetrics.popularity_strata(train, tail=tail)
        assert (strata["head"] ^ strata["tail"]).all()
        lists = np.arange(N_ITEMS)[:, np.newaxis]
        text = f"long_tail(tail={tail})@1"
        values = Metrics.compute_ranked(
            lists, np.ones((N_ITEMS, N_ITEMS)), text, popularity=popularity
        )
        np.testing.assert_array_equal(values[text], strata["tail"])


@pytest.mark.parametrize("n_items", [10, 1000])
def test_rounding_does_not_move_the_head(n_items):
    """Equally popular items: in binary, 1 - 0.7 is a little more than 3 / 10, 1 - 0.9 less."""
    for tenths in range(1, 10):
        strata = recmetrics.popularity_strata(np.ones((2, n_items)), tail=tenths / 10)
        assert strata["head"].sum() == n_items * (10 - tenths) // 10


@pytest.mark.parametrize("n_items", [0, 3])
def test_without_interactions_all_items_are_in_the_tail(n_items):
    strata = recmetrics.popularity_strata(np.zeros((2, n_items)))
    assert strata["head"].tolist() == [False] * n_items
    assert strata["tail"].tolist() == [True] * n_items


def test_a_list_of_items_without_interactions_has_no_head():
    strata, popularity = recmetrics.popularity_strata([[0, 0, 0]]), [0.0, 0.0, 0.0]
    got = Metrics.compute(
        [[3, 2, 1]],
        [[1, 0, 0]],
        ["long_tail@2", "share(of=head)@2", "share(of=tail)@2"],
        popularity=popularity,
        strata=strata,
    )
    assert {text: values.item() for text, values in got.items()} == {
        "long_tail@2": 1.0,
        "share(of=head)@2": 0.0,
        "share(of=tail)@2": 1.0,
    }


@pytest.mark.parametrize("tail", [0.0, 1.0, -1, "0.5", True, np.nan])
def test_a_share_outside_its_range_is_refused(tail):
    with pytest.raises(ArgumentError, match="tail must be a number above 0 and below 1, got"):
        recmetrics.popularity_strata([[1, 0]], tail=tail)
