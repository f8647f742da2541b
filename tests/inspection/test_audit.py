"""What audit finds, planted one at a time and in random problems against plain Python."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from problems import JIT

import recmetrics
from recmetrics import ArgumentError, Finding, InputError, audit, audit_ranked

CLEAN = np.array([[5.0, 4.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 3.0, 2.0]])
TRUTH = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])


def changed(matrix, user, items, value):
    matrix = matrix.copy()
    matrix[user, items] = value
    return matrix


def test_nothing_odd():
    report = audit(CLEAN, TRUTH, k=2)
    assert report.findings == {}
    assert str(report) == "3 users x 4 items, float64, k = 2: nothing odd"


@pytest.mark.parametrize(
    "name, scores, truth, arguments, expected",
    [
        ("nan", changed(CLEAN, 1, 2, np.nan), TRUTH, {}, Finding(1, 1, 1, 2)),
        ("positive_inf", changed(CLEAN, 2, 0, np.inf), TRUTH, {}, Finding(1, 1, 2, 0)),
        ("negative_inf", changed(CLEAN, 0, [2, 3], -np.inf), TRUTH, {}, Finding(1, 2, 0, 2)),
        ("constant", changed(CLEAN, 1, slice(None), 7), TRUTH, {}, Finding(1, 0, 1)),
        ("constant", changed(CLEAN, 1, [0, 1, 2], 7), TRUTH, {"exclude": [[], [3], []]},
         Finding(1, 0, 1)),
        ("constant", changed(CLEAN, 1, [0, 2], 7), TRUTH, {"candidates": [[0, 1], [0, 2], [1, 2]]},
         Finding(1, 0, 1)),
        ("short", changed(CLEAN, 2, [0, 1, 2], -np.inf), TRUTH, {}, Finding(1, 0, 2)),
        ("short", CLEAN, TRUTH, {"exclude": [[1], [0, 2, 3], [1]]}, Finding(1, 0, 1)),
        ("tied_at_cutoff", changed(CLEAN, 0, [1, 2], 3), TRUTH, {}, Finding(1, 0, 0)),
        ("excluded_relevant", CLEAN, TRUTH, {"exclude": [[0], [], [2]]}, Finding(2, 2, 0, 0)),
        ("not_candidates", CLEAN, TRUTH, {"candidates": [0, 1, 3]}, Finding(1, 1, 2, 2)),
        ("without_truth", CLEAN, changed(TRUTH, 2, 2, 0), {}, Finding(1, 0, 2)),
    ],
)  # fmt: skip
def test_each_is_found_alone(name, scores, truth, arguments, expected):
    assert getattr(audit(scores, truth, k=2, **arguments), name) == expected
    twin = audit(CLEAN, TRUTH, k=2)
    assert getattr(twin, name) == Finding()


def test_what_a_sparse_truth_stores():
    rows, items, values = [0, 1, 2, 1, 2], [0, 1, 2, 1, 0], [1.0, 1.0, 1.0, 2.0, 0.0]
    report = audit(CLEAN, sp.coo_array((values, (rows, items)), shape=CLEAN.shape), k=2)
    assert report.duplicates == Finding(1, 1, 1, 1)
    assert report.explicit_zeros == Finding(1, 1, 2, 0)


def test_a_graded_truth_is_told_from_a_binary_one():
    ratings = TRUTH * [[5], [1], [2]]
    for report in (audit(CLEAN, ratings, k=2), audit_ranked(CLEAN.argsort()[:, ::-1], ratings)):
        assert report.grades == (3, 1.0, 5.0)
        assert str(report).endswith(
            "\n  truth has 3 different values above 0 (1 to 5): graded metrics, such as ndcg, use "
            "them"
        )
    for binary in (TRUTH, 5 * TRUTH, 0 * TRUTH):
        assert audit(CLEAN, binary, k=2).grades is None


def test_the_report_reads_like_this():
    scores = changed(changed(CLEAN, 1, slice(None), 7), 0, 3, np.nan)
    assert str(audit(scores, TRUTH, k=2)).splitlines() == [
        "3 users x 4 items, float64, k = 2",
        "  scores are NaN, an error unless nan='exclude': 1 item of 1 user "
        "(33.3% of users), first (user 0, item 3)",
        "  all items have the same score, so they rank by item index: 1 user (33.3%), first user 1",
        "  equal scores at ranks k and k + 1; item order decides rank k: 1 user (33.3%), "
        "first user 1",
        "  relevant items tied with others; item order decides metrics at k: 1 user (33.3%), "
        "first user 1",
    ]


ADVICE = (
    "\n    {} has few distinct values: give the logits, or cast them to float32 before a "
    "sigmoid;\n    ties='range' gives the least and the greatest value of each metric"
)


def test_its_repr_is_the_report_and_a_notebook_shows_it_as_a_table():
    report = audit([[2, 1, 1], [5, 5, 5]], [[0, 1, 0], [0, 0, 0]], k=2)
    assert repr(report) == str(report)
    cells = re.findall(r"<t[hd] [^>]*>(.*?)</t[hd]>", report._repr_html_())
    head, *lines = str(report).splitlines()
    assert cells[:2] == ["", head]
    pairs = zip(cells[2::2], cells[3::2], strict=True)
    assert [f"  {meaning}: {users}" for meaning, users in pairs] == lines
    assert "nothing odd" in audit([[2, 1, 0]], [[0, 1, 0]], k=2)._repr_html_()
    nobody = audit(np.zeros((0, 5)), [])
    assert str(nobody) == "0 users x 5 items, float64, k = 10: no user to check"
    assert "no user to check" in nobody._repr_html_()


@pytest.mark.parametrize(
    ("n_without", "share"), [(1, "<0.1%"), (2_999, ">99.9%"), (3, "0.1%"), (2_997, "99.9%")]
)
def test_a_share_of_some_users_is_neither_none_nor_all(n_without, share):
    scores = np.tile([2.0, 1.0], (3_000, 1))
    truth = np.tile([1, 0], (3_000, 1))
    truth[:n_without] = 0
    assert f"accuracy is undefined: {n_without:,} user" in str(audit(scores, truth, k=1))
    assert f"({share}), first user 0" in str(audit(scores, truth, k=1))


@pytest.mark.parametrize(
    "dtype, name",
    [(">f2", "big-endian float16"), *((name, name) for name in ("float16", "float32", "int16"))],
)
def test_half_precision_that_ties_gets_advice(dtype, name):
    scores = np.tile(np.array([4, 3, 2, 1], dtype), (200, 1))
    truth = [[0]] * 200
    for n_tied, is_many in ((2, False), (3, True)):  # more than one user in a hundred
        scores[:n_tied, 1] = 4
        report = audit(scores, truth, k=2)
        assert report.depend_on_ties == Finding(n_tied, 0, 0)
        needs_advice = is_many and dtype in ("float16", ">f2")
        line = f"item order decides metrics at k: {n_tied} users ({n_tied / 200:.1%}), first user 0"
        assert str(report).endswith(line + ADVICE.format(name) * needs_advice)


def test_the_least_integer_is_a_score_like_any_other():
    least = np.iinfo(np.int64).min
    scores = np.tile([3, 2, 1, least], (400, 75))
    report = audit(scores, np.eye(400, 300), k=2)
    assert report.positive_inf == report.negative_inf == Finding()
    assert report.tied_at_cutoff.users == 400


def test_with_candidates_their_scores_alone_are_read():
    report = audit(changed(CLEAN, 0, 3, np.nan), TRUTH, candidates=[0, 1, 2], k=2)
    assert report.findings == {}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8])
@pytest.mark.parametrize("form", ["all", "exclude", "candidates"])
def test_dependence_on_ties_is_what_the_metrics_say(dtype, form):
    """A user depends on ties where some metric at k differs between the best and worst order."""
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 4, (60, 9)).astype(dtype)
    truth = rng.integers(0, 3, (60, 9)) * (rng.random((60, 9)) < 0.4)
    sets = {} if form == "all" else {form: rng.random((60, 9)) < 0.6}
    metrics = ["ndcg@3", "dcg@3", "cg@3", "mrr@3", "hit@3"]
    ends = [
        recmetrics.Metrics.compute(scores, truth, metrics, ties=ties, undefined="zero", **sets)
        for ties in ("worst", "best")
    ]
    differs = np.any([ends[0][m] != ends[1][m] for m in metrics], axis=0)
    report = audit(scores, truth, k=3, **sets)
    assert 5 < differs.sum() < 55
    assert report.depend_on_ties.users == differs.sum()
    assert report.depend_on_ties.user == np.flatnonzero(differs)[0]


@pytest.mark.usefixtures("threads_start_early")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_blocks_add_up(n_threads):
    n_items = 400 if JIT else 40
    rng = np.random.default_rng(6)
    scores = rng.integers(0, 30, (3000, n_items)).astype(np.float32)
    scores[rng.random(scores.shape) < 0.001] = np.nan
    truth = sp.random(3000, n_items, 0.01, "csr", random_state=7)
    report = audit(scores, truth, k=5, n_threads=n_threads)
    users, items = np.nonzero(np.isnan(scores))
    assert report.nan == Finding(len(set(users)), len(users), users[0], items[0])
    lists = [sorted(row[~np.isnan(row)], reverse=True) for row in scores]
    tied = [user for user, best in enumerate(lists) if best[4] == best[5]]
    assert report.tied_at_cutoff == Finding(len(tied), 0, tied[0])
    empty = np.flatnonzero(np.diff(truth.indptr) == 0)
    assert report.without_truth == Finding(len(empty), 0, empty[0])


def test_a_cutoff_beyond_the_catalogue():
    report = audit(CLEAN, TRUTH, k=9)
    assert report.short == Finding(3, 0, 0)
    assert report.tied_at_cutoff == Finding()


def test_no_users_and_no_items():
    assert audit(np.empty((0, 3)), np.empty((0, 3))).findings == {}
    assert audit(np.empty((2, 0)), np.empty((2, 0))).short == Finding(2, 0, 0)


def test_k_must_be_a_count():
    with pytest.raises(ArgumentError, match="k must be an integer >= 1, such as 10, got 0"):
        audit(CLEAN, TRUTH, k=0)


def test_bfloat16_is_called_by_its_name():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    scores = torch.tensor(CLEAN)
    for dtype, name in ((torch.bfloat16, "torch.bfloat16"), (torch.float16, "float16")):
        report = audit(scores.to(dtype), TRUTH, k=2)
        assert str(report) == f"3 users x 4 items, {name}, k = 2: nothing odd"
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    assert audit(CLEAN.astype(ml_dtypes.bfloat16), TRUTH, k=2).dtype == "bfloat16"


# --- Rankings ------------------------------------------------------------------------------------

RANKING = [[3, 0], [1], [2, 7]]
LISTS = [np.array([0]), np.array([], int), np.array([5, 4])]


def test_the_largest_index_of_a_catalogue_of_unknown_size():
    report = audit_ranked(RANKING, LISTS, k=2)
    assert report.findings == {
        "short": Finding(1, 0, 1),
        "without_truth": Finding(1, 0, 1),
        "largest_in_truth": Finding(1, 1, 2, 5),
        "largest_in_ranking": Finding(1, 1, 2, 7),
    }
    assert str(report).splitlines() == [
        "3 users x an unknown number of items, int64, k = 2",
        "  fewer than k items to recommend: 1 user (33.3%), first user 1",
        "  no relevant item, accuracy is undefined: 1 user (33.3%), first user 1",
        "  largest item index in truth: 5 (user 2)",
        "  largest item index in the rankings: 7 (user 2)",
    ]
    assert audit_ranked([[7], [7, 1]], [[7], [7]], k=1).largest_in_ranking == Finding(2, 2, 0, 7)
    nothing = audit_ranked([[], []], [[], []])
    assert nothing.largest_in_truth == nothing.largest_in_ranking == Finding()


def test_where_the_size_is_known_no_index_is_a_finding():
    assert audit_ranked([[3, 0], [1, 2]], [[0], [3]], n_items=4, k=2).findings == {}
    matrix = np.eye(2, 4, dtype=int)
    report = audit_ranked([[3, 0], [1, 2]], matrix, k=2)
    assert str(report) == "2 users x 4 items, int64, k = 2: nothing odd"
    stored = sp.coo_array(([1, 1, 0], ([0, 0, 1], [2, 2, 1])), shape=(2, 4))
    report = audit_ranked(np.array([[3, 0], [1, 2]], np.int32), stored, k=2)
    assert (report.dtype, report.duplicates) == ("int32", Finding(1, 1, 0, 2))
    assert report.explicit_zeros == Finding(1, 1, 1, 1)


def test_repeated_and_unknown_items_of_rankings_are_counted():
    findings = audit_ranked([[3, 0], [9, 1, 1, 1]], [[0], [3]], n_items=4, k=2).findings
    assert findings["repeats"] == Finding(1, 2, 1, 1)  # one user, two items, user 1, item 1
    assert findings["unknown"] == Finding(1, 1, 1, 9)


def test_rankings_are_checked_as_by_compute_ranked():
    with pytest.raises(InputError, match="names at rank 3 item 4 after the end of the list"):
        audit_ranked([[1, -1, 4]], [[1]], n_items=6)
    with pytest.raises(InputError, match="truth of user 2 names item 5, which is outside"):
        audit_ranked(RANKING, LISTS, n_items=5)
    with pytest.raises(ArgumentError):
        audit_ranked(RANKING, LISTS, k=0)
