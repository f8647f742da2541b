"""``recmetrics evaluate SCORES TRUTH``: what it prints and writes for good input."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from asserts import assert_identical
from commands import evaluated, printed, refused
from inside import METRICS, write_per_user
from scipy import sparse

import recmetrics
from recmetrics import Finding, Metrics, audit, compare, summary
from recmetrics.cli import main

SCORES = np.array(
    [[4, 3, 2, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5], [1, 5, 2, 4, 3], [9, 8, 7, 6, 5]], np.float32
)
TRUTH = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 2, 0], [0, 0, 0, 0, 0], [0, 3, 0, 0, 1]], float)
TRAIN = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0]], float)
ASKED = ["ndcg@3", "recall( denom = relevant )@2"]
BASE = ["scores.npy", "truth.npz"]


def lines(matrix, separator):
    pairs = np.argwhere(matrix)
    return "".join(separator.join([str(u), str(i), str(matrix[u, i])]) + "\n" for u, i in pairs)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The same scores, truth and train set in every form a user may have them."""
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    for name, matrix in {"truth": TRUTH, "train": TRAIN}.items():
        np.save(f"{name}.npy", matrix)
        sparse.save_npz(f"{name}.npz", sparse.csr_array(matrix))
        Path(f"{name}.tsv").write_text(lines(matrix, "\t"))
        Path(f"{name}.csv").write_text("# user,item,relevance\n" + lines(matrix, ", "))


@pytest.mark.parametrize("suffix", ["npy", "npz", "tsv", "csv"])
def test_every_form_of_truth_and_train_gives_what_compute_gives(capsys, suffix):
    argv = ["scores.npy", f"truth.{suffix}", "--exclude", f"train.{suffix}", "-m", *ASKED]
    found = evaluated(capsys, *argv)
    expected = Metrics.compute(SCORES, TRUTH, ASKED, exclude=TRAIN)
    assert list(found["of"]) == ASKED
    for metric, values in expected.items():
        defined = values[~np.isnan(values)]
        assert found["of"][metric]["mean"] == defined.mean()
        assert found["of"][metric]["std"] == defined.std(ddof=1)
        assert (found["of"][metric]["n_users"], found["of"][metric]["n_undefined"]) == (3, 1)
    assert "4 users x 5 items" in found["notes"]


def test_a_sparse_truth_as_pairs(capsys):
    expected = evaluated(capsys, *BASE, "-m", "mrr")
    sparse.save_npz("other.npz", sparse.coo_array(TRUTH))
    assert evaluated(capsys, "scores.npy", "other.npz", "-m", "mrr") == expected


def test_exclude_and_candidates_change_the_result(capsys):
    means = set()
    for sets in ({}, {"exclude": TRAIN}, {"candidates": TRAIN}):
        argv = [word for name in sets for word in (f"--{name}", "train.npz")]
        found = evaluated(capsys, *BASE, *argv, "-m", "recall@2")["of"]["recall@2"]["mean"]
        assert found == np.nanmean(Metrics.recall_at_k(SCORES, TRUTH, 2, **sets))
        means.add(found)
    assert len(means) == 3


def test_text_of_sets_and_of_truth(capsys):
    """A set ignores numbers and repetition; comments, blank lines, other line ends are fine."""
    Path("again.tsv").write_text("0 0 0\n0 0 -1\n1 4\n3 0 5\n3 1\n3 1\n")
    text = "\ufeff# caf\u00e9\r\n\r\n0 0\r\n0\t1 # comment\r\n 0 , 4 , 1.0\r\n1 3 2e0\r\n3 1 3\n3 4"
    Path("odd.txt").write_bytes(text.encode() + b"\n# not UTF-8: \xff\n")
    expected = evaluated(capsys, *BASE, "--exclude", "train.npy", "-m", *ASKED)
    argv = ["scores.npy", "odd.txt", "--exclude", "again.tsv", "-m", *ASKED]
    assert evaluated(capsys, *argv) == expected


def test_undefined_zero_counts_every_user(capsys):
    one = evaluated(capsys, *BASE, "-m", "hit@5")
    assert (one["of"]["hit@5"]["mean"], one["of"]["hit@5"]["n_users"]) == (1.0, 3)
    note = "to count users without a value as 0, give --undefined zero"
    assert note in one["notes"]
    zero = evaluated(capsys, *BASE, "-m", "hit@5", "--undefined", "zero")
    assert (zero["of"]["hit@5"]["mean"], zero["of"]["hit@5"]["n_users"]) == (0.75, 4)
    assert zero["undefined"] == {"hit@5": "zero"}
    message = refused(capsys, "evaluate", *BASE, "-m", "hit@5", "--undefined", "raise")
    assert "the first is user 2" in message


def test_a_convention_gives_the_numbers_of_its_system(capsys):
    found = evaluated(capsys, *BASE, "-m", "recall@2", "--convention", "RanX")
    # Of three, one and two relevant items the first two ranks hold 2, 1 and 1; user 2 has none.
    assert found["of"]["recall@2"]["mean"] == pytest.approx((2 / 3 + 1 / 1 + 1 / 2) / 3)
    assert found["convention"] == "ranx"
    assert "denom=relevant" in found["definitions"]["recall@2"]
    plain = evaluated(capsys, *BASE, "-m", "recall@2")
    assert plain["convention"] is None
    assert plain["of"]["recall@2"]["mean"] != found["of"]["recall@2"]["mean"]


def test_without_metrics_every_bounded_one_is_computed(capsys):
    found = evaluated(capsys, *BASE)["of"]
    bounded = [m for m in METRICS.values() if m.reads == "hits" and m.bounds == (0, 1)]
    expected = {metric.name for metric in bounded if metric.higher_is_better}
    assert {metric.partition("@")[0] for metric in found} == expected
    assert "ndcg@10" in found
    found = evaluated(capsys, *BASE, "--convention", "rectorch")["of"]
    assert list(found) == ["hit@10", "recall@10", "map@10", "mrr@10", "ndcg@10", "auc"]


def test_the_statistics_are_those_of_summary_and_compare(capsys):
    values = Metrics.compute(SCORES, TRUTH, ASKED)
    argv = [*BASE, "-m", *ASKED, "--confidence", "0.9"]
    found = evaluated(capsys, *argv)
    expected = summary(values, confidence=0.9)
    assert found["means"] == expected.to_dict()["means"]
    assert found["confidence"] == 0.9
    mean = compare({"a": values, "b": values}, confidence=0.9).means[0]
    assert [found["of"][ASKED[0]][end] for end in ("low", "high")] == [mean.low, mean.high]
    out = printed(capsys, "evaluate", *argv)
    assert out.partition("\n\n")[0] == str(expected).partition("\n\n")[0]
    assert out.endswith(
        "relevant entries exceed 1; if these are no grades, SciPy may have summed repeated "
        "entries; to ignore the grades type 'ndcg(gain=binary)@3'\nto count users without a value "
        "as 0, give --undefined zero\n"
    )
    assert "\x1b" not in out


def test_a_keyword_of_summary_is_shown_without_an_edit_of_the_command(capsys, monkeypatch):
    """Weights are one: the means, the chance level beside them and a line below are weighted."""
    of_library, weights = recmetrics.Evaluation.summary, np.array([1, 3, 1, 0])
    monkeypatch.setattr(
        recmetrics.Evaluation, "summary", lambda own, **k: of_library(own, weights=weights, **k)
    )
    out = printed(capsys, "evaluate", *BASE, "-m", "hit@1", "--chance")
    # Of users 0 and 1 the first is a hit; by chance 3 and 1 of 5 items are.
    row = next(line.split() for line in out.splitlines() if line.startswith("hit@1"))
    assert row[1:3] == [f"{(1 * 1 + 3 * 0) / 4:.4f}", f"{(1 * 3 / 5 + 3 * 1 / 5) / 4:.4f}"]
    assert "\nweighted; " in out


@pytest.mark.parametrize(
    "argv", [["evaluate", *BASE, "--chance"], ["compare", "old.npz", "new.npz"]], ids=lambda a: a[0]
)
def test_a_narrow_terminal_cuts_nothing_off(argv, capsys, monkeypatch):
    for name, options in {"old": {}, "new": {"exclude": TRAIN}}.items():
        write_per_user(Path(f"{name}.npz"), Metrics.compute(SCORES, TRUTH, ASKED, **options))
    wide = printed(capsys, *argv)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    narrow = printed(capsys, *argv)
    assert max(map(len, narrow.splitlines())) <= 40 < max(map(len, wide.splitlines()))
    numbers = re.compile(r"[+-]?\d+\.\d+")  # none is split
    assert set(numbers.findall(narrow)) == set(numbers.findall(wide))


def test_all_relevant_items_excluded(capsys):
    relevant = [u for u in range(4) if TRUTH[u].any()]
    suspect = ", and excluded items are never hits; are exclude= and the truth the same "
    for swallowed, more in ((relevant[:1], ""), (relevant, suspect)):
        exclude = np.zeros_like(TRUTH)
        exclude[swallowed] = TRUTH[swallowed]
        np.save("exclude.npy", exclude)
        found = evaluated(capsys, *BASE, "-m", "hit@2", "--exclude", "exclude.npy")
        assert found["counts"]["swallowed"] == len(swallowed)
        note = f"exclude holds all relevant items of {len(swallowed)} of the 3 users "
        note += f"with relevant items{more}"
        assert any(each.startswith(note) for each in found["notes"])
        out = printed(capsys, "evaluate", *BASE, "-m", "hit@2", "--exclude", "exclude.npy")
        assert note in out
    assert "excluded" not in printed(capsys, "evaluate", *BASE, "-m", "hit@2")


def test_exchanged_scores_and_truth_are_an_error_beside_the_numbers(capsys):
    assert main(["evaluate", "train.npz", "scores.npy", "-m", "hit@2"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("metric ")
    assert err.startswith("recmetrics: error: nothing was measured: ")
    assert err.count("are scores and truth exchanged?") == 1


def test_no_user_with_a_value_is_an_error(capsys):
    np.save("nothing.npy", np.zeros_like(TRUTH))
    message = refused(capsys, "evaluate", "scores.npy", "nothing.npy", "-m", "mrr")
    assert message.startswith("no user has a value of any metric; ")


# --- Values of each user -------------------------------------------------------------------------


def test_per_user_csv_holds_every_digit_and_an_empty_cell_where_undefined(capsys):
    evaluated(capsys, *BASE, "-m", *ASKED, "--per-user", "users.csv")
    expected = Metrics.compute(SCORES, TRUTH, ASKED)
    with Path("users.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["user", *ASKED]
    assert [row[0] for row in rows] == ["0", "1", "2", "3"]
    assert rows[2][1:] == ["", ""]
    for column, metric in enumerate(ASKED, start=1):
        read = [float(row[column] or "nan") for row in rows]
        np.testing.assert_array_equal(read, expected[metric])


def test_per_user_npz_holds_the_arrays_and_replaces_an_older_file(capsys):
    Path("users.npz").write_text("an older file")
    before = set(Path().iterdir())
    evaluated(capsys, *BASE, "-m", *ASKED, "--per-user", "users.npz")
    assert set(Path().iterdir()) == before  # no temporary file stays
    with np.load("users.npz") as found:
        assert list(found) == ASKED
        assert_identical(found, Metrics.compute(SCORES, TRUTH, ASKED))


def test_a_system_metric_is_named_that_the_file_of_users_lacks(capsys):
    argv = [*BASE, "-m", "hit@2", "coverage@2", "gini@2", "--per-user", "users.csv"]
    note = "not in users.csv: coverage@2, gini@2, which have one value for all lists"
    assert note in printed(capsys, "evaluate", *argv)
    assert note in evaluated(capsys, *argv)["notes"]
    assert "not in" not in printed(capsys, "evaluate", *BASE, "-m", "hit@2", *argv[-2:])
    of_one = printed(capsys, "evaluate", *BASE, "-m", "hit@2", "gini@2", *argv[-2:])
    assert "not in users.csv: gini@2, which has one value for all lists" in of_one
    assert Path("users.csv").read_text().startswith("user,hit@2\n")


def test_a_system_metric_has_one_value_and_no_place_among_users_in_text():
    for name in ("users.csv", "users.npz"):
        write_per_user(Path(name), {"coverage@2": np.array(0.25), "hit@2": np.array([1.0, 0.0])})
    assert Path("users.csv").read_text() == "user,hit@2\n0,1.0\n1,0.0\n"
    with np.load("users.npz") as found:
        assert {name: values.tolist() for name, values in found.items()} == {
            "coverage@2": 0.25,
            "hit@2": [1.0, 0.0],
        }


def test_the_gate_judges_a_metric_of_all_lists_in_files_of_users(capsys):
    """The new model shows every user the same two items."""
    np.save("worse.npy", np.tile(SCORES[1], (4, 1)))
    argv = ["truth.npz", "-m", "hit@2", "coverage@2", "--per-user"]
    assert "not in" not in printed(capsys, "evaluate", "scores.npy", *argv, "old.npz")
    printed(capsys, "evaluate", "worse.npy", *argv, "new.npz")
    rule = ["--baseline", "old", "--gate", "coverage@2 >= -5%", "-m", "coverage@2"]
    assert main(["compare", "old.npz", "new.npz", *rule]) == 1
    Path("same.npz").write_bytes(Path("old.npz").read_bytes())
    assert main(["compare", "old.npz", "same.npz", *rule]) == 0


@pytest.mark.parametrize("suffix", ["csv", "npz"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_older_file_of_users_stays_where_the_numbers_are_refused(form, suffix, capsys):
    np.save("zeros.npy", np.zeros_like(TRUTH))
    older = Path(f"users.{suffix}")
    older.write_text("older")
    argv = ["-m", "hit@2", "--per-user", str(older), *form]
    assert main(["evaluate", "scores.npy", "zeros.npy", *argv]) == 2
    assert capsys.readouterr().out == ""
    assert main(["evaluate", "train.npz", "scores.npy", *argv]) == 2
    out, err = capsys.readouterr()
    assert "hit@2" in out
    assert "nothing was measured" in err
    assert older.read_text() == "older"
    assert main(["evaluate", "scores.npy", "truth.npy", *argv]) == 0
    assert older.read_bytes() != b"older"


# --- Ties, chance and ceiling, the audit ---------------------------------------------------------


def test_ties_are_those_of_compute(capsys):
    tied = np.round(SCORES / 4).astype(np.float32)
    np.save("tied.npy", tied)
    means = []
    for ties in ("index", "expected", "worst", "best"):
        found = evaluated(capsys, "tied.npy", "truth.npz", "-m", "ndcg@3", "--ties", ties)
        expected = np.nanmean(Metrics.compute(tied, TRUTH, "ndcg@3", ties=ties)["ndcg@3"])
        assert found["of"]["ndcg@3"]["mean"] == expected
        assert found["ties"] == {"ndcg@3": ties}
        means.append(expected)
    assert len(set(means)) == 4
    argv = ["tied.npy", "truth.npz", "-m", "ndcg@3", "--ties", "range", "--chance"]
    found = evaluated(capsys, *argv, "--per-user", "values.csv")
    expected = Metrics.compute(tied, TRUTH, "ndcg@3", ties="range")
    assert list(found["of"]) == ["ndcg@3", "ndcg@3[least]", "ndcg@3[greatest]"]
    assert [each["mean"] for each in found["means"]] == [np.nanmean(v) for v in expected.values()]
    assert [*found["ties"].values()] == ["expected", "least", "greatest"]
    assert Path("values.csv").read_text().splitlines()[0] == f"user,{','.join(expected)}"
    # A random ranking has no ties.
    chance = np.nanmean(Metrics.chance(TRUTH, "ndcg@3")["ndcg@3"])
    assert [each.get("chance") for each in found["means"]] == [chance, None, None]


def test_chance_and_ceiling_stand_beside_each_mean(capsys):
    argv = [*BASE, "--exclude", "train.npz", "--chance", "-m", "ndcg@3", "coverage@3"]
    found = evaluated(capsys, *argv)["of"]
    for name in ("chance", "ceiling"):
        values = getattr(Metrics, name)(TRUTH, "ndcg@3", exclude=TRAIN)["ndcg@3"]
        assert found["ndcg@3"][name] == np.nanmean(values)
        assert name not in found["coverage@3"]
    heading, _, ndcg, coverage, *notes = printed(capsys, "evaluate", *argv).splitlines()
    assert heading.split()[:4] == ["metric", "mean", "chance", "ceiling"]
    assert ndcg.split()[2:4] == [f"{found['ndcg@3'][name]:.4f}" for name in ("chance", "ceiling")]
    assert coverage.split()[2:4] == ["-", "-"]
    assert "chance, ceiling: not given for coverage@3" in notes
    assert "chance" not in evaluated(capsys, *BASE, "-m", "ndcg@3")["of"]["ndcg@3"]


@pytest.mark.parametrize(
    ("candidates", "chance", "ceiling"),
    [
        (None, (1 / 3 + 0) / 2, 1 / 2),
        ([[1, 1, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 0, 0, 1]], (1 + 0) / 2, 1 / 2),
        ([0, 1, 2], (1 / 2 + 0) / 2, 1 / 2),  # for all users
        ([2, 3], 0, 0),
    ],
)
def test_chance_of_sparse_scores_is_that_of_the_stored_entries(capsys, candidates, chance, ceiling):
    """User 0 has the items 1, 2 and 3, of which 1 is relevant; user 1 has 0, 4 and 5, but not 7."""
    data = [0.5, 0.5, 0.5, -np.inf, 0.5, 0.5, 0.5]
    indices = ([0, 0, 0, 0, 1, 1, 1], [1, 2, 3, 6, 0, 4, 5])
    sparse.save_npz("top.npz", sparse.csr_array((data, indices), shape=(2, 8)))
    Path("two.txt").write_text("0 1\n1 7\n")
    argv = ["top.npz", "two.txt", "-m", "hit@1", "--chance", "--ties", "expected"]
    if candidates is not None:
        np.save("candidates.npy", candidates)
        argv += ["--candidates", "candidates.npy"]
    of_metric = evaluated(capsys, *argv)["of"]["hit@1"]
    assert of_metric["chance"] == pytest.approx(chance, abs=1e-12)
    assert of_metric["ceiling"] == ceiling
    assert of_metric["mean"] == pytest.approx(chance, abs=1e-12)  # all scores are equal


def test_the_audit_stands_above_the_table_and_in_json(capsys):
    odd = SCORES.copy()
    odd[0, 1:3] = 3  # a tie across cutoff 2
    np.save("odd.npy", odd)
    argv = ["odd.npy", "truth.npz", "--exclude", "train.npz", "-m", "ndcg@1", "recall@2", "auc"]
    expected = audit(odd, TRUTH, exclude=TRAIN, k=2)
    table = printed(capsys, "evaluate", *argv)
    assert printed(capsys, "evaluate", *argv, "--audit") == f"{expected}\n\n{table}"
    found = evaluated(capsys, *argv, "--audit")["audit"]
    assert (found["k"], found["dtype"]) == (2, "float32")
    assert {name: Finding(**one) for name, one in found["findings"].items()} == expected.findings
    assert "audit" not in evaluated(capsys, *argv)
    whole = evaluated(capsys, *BASE, "-m", "auc", "--audit")
    assert whole["audit"]["k"] == SCORES.shape[1]


def test_the_audit_tells_of_what_ends_the_command(capsys):
    odd = SCORES.copy()
    odd[1, 2] = np.nan
    np.save("odd.npy", odd)
    argv = ["evaluate", "odd.npy", "truth.npz", "-m", "ndcg@3", "--audit"]
    assert main(argv) == 2
    told = capsys.readouterr()
    assert (
        "  scores are NaN, an error unless nan='exclude': 1 item of 1 user (25.0% of users)"
        in told.out
    )
    assert told.err.startswith("recmetrics: error: scores hold 1 NaN, the first at (us")
    assert "ndcg@3" in printed(capsys, *argv, "--nan", "exclude")


def test_sparse_scores_and_a_truth_of_one_item_each(capsys):
    sparse.save_npz("scores.npz", sparse.csr_array(np.where(SCORES > 1, SCORES, 0)))
    np.save("next.npy", np.array([0, -1, 2, 4]))
    found = evaluated(capsys, "scores.npz", "next.npy", "-m", "mrr", "hit@1", "--chance", "--audit")
    # Users 0, 2 and 3: item 0 is first, item 2 fourth of 5, 4, 3, 2, and item 4 fifth.
    assert found["of"]["mrr"]["mean"] == pytest.approx((1 + 1 / 4 + 1 / 5) / 3)
    assert (found["of"]["hit@1"]["mean"], found["of"]["hit@1"]["n_users"]) == (1 / 3, 3)
    # Three, four and five items are stored.
    assert found["of"]["hit@1"]["chance"] == pytest.approx((1 / 3 + 1 / 4 + 1 / 5) / 3)
    np.save("next.npy", np.array([0, 1, 5, 4]))
    message = refused(capsys, "evaluate", "scores.npz", "next.npy")
    assert "item 5, which is outside the catalogue; expected 0 .. 4" in message
