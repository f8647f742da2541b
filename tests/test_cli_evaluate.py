"""``recmetrics evaluate``: what it prints and writes for good input."""

import csv
import json
import sys

import numpy as np
import pytest
from scipy import sparse

from recmetrics import Finding, Metrics, audit, compare, summary
from recmetrics._selection import find_hits
from recmetrics._spec import METRICS, Request
from recmetrics.cli import _score_files, main
from recmetrics.cli._output import write_per_user

pytest.importorskip("rich", reason="rich is not installed")

SCORES = np.array(
    [[4, 3, 2, 1, 0], [0.1, 0.2, 0.3, 0.4, 0.5], [1, 5, 2, 4, 3], [9, 8, 7, 6, 5]], np.float32
)
TRUTH = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 2, 0], [0, 0, 0, 0, 0], [0, 3, 0, 0, 1]], float)
TRAIN = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 0, 0, 0]], float)
ASKED = ["ndcg@3", "recall( denom = relevant )@2"]


def lines(matrix, separator=" ", *, graded=True):
    return "".join(
        separator.join([str(user), str(item), *([str(matrix[user, item])] if graded else [])])
        + "\n"
        for user, item in np.argwhere(matrix)
    )


@pytest.fixture
def files(tmp_path):
    """The same scores, truth and train set in every form a user may have them."""
    np.save(tmp_path / "scores.npy", SCORES)
    for name, matrix in {"truth": TRUTH, "train": TRAIN}.items():
        np.save(tmp_path / f"{name}.npy", matrix)
        sparse.save_npz(tmp_path / f"{name}.npz", sparse.csr_array(matrix))
        (tmp_path / f"{name}.tsv").write_text(lines(matrix, "\t"))
        (tmp_path / f"{name}.csv").write_text("# user,item,relevance\n" + lines(matrix, ", "))
    return tmp_path


def run_json(capsys, *argv):
    assert main(["evaluate", *map(str, argv), "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def asked(metrics=ASKED):
    return [word for metric in metrics for word in ("-m", metric)]


THREE = ["ndcg@3", "recall(rel=1,denom=relevant)@2", "auc"]


@pytest.mark.parametrize(
    "written",
    [
        ["-m", THREE[0], "-m", THREE[1], "--metric", THREE[2]],
        ["-m", ",".join(THREE)],
        ["-m", *THREE],
        ["-m", f"{THREE[0]}, {THREE[1]}", THREE[2]],
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_several_metrics_in_every_spelling(files, capsys, written, first):
    names = [files / "scores.npy", files / "truth.npy"]
    printed = run_json(capsys, *(written if first else names), *(names if first else written))
    assert [metric.strip() for metric in printed["metrics"]] == THREE


def test_the_case_of_a_convention_does_not_matter(files, capsys):
    names = (files / "scores.npy", files / "truth.npy", "-m", "recall@2", "--convention")
    printed = [run_json(capsys, *names, name) for name in ("RanX", "ranx", "lenskit")]
    means = [each["metrics"]["recall@2"]["mean"] for each in printed]
    assert means[0] == means[1] != means[2]


def test_a_file_with_the_name_of_a_metric_is_the_file(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    np.save("ndcg@3.npy", SCORES)
    printed = run_json(capsys, "-m", "auc", "ndcg@3.npy", "truth.npy")
    assert list(printed["metrics"]) == ["auc"]


@pytest.mark.parametrize("suffix", ["npy", "npz", "tsv", "csv"])
def test_every_form_of_truth_and_train_gives_what_compute_gives(files, capsys, suffix):
    found = run_json(
        capsys,
        files / "scores.npy",
        files / f"truth.{suffix}",
        "--exclude",
        files / f"train.{suffix}",
        *asked(),
    )
    expected = Metrics.compute(SCORES, TRUTH, ASKED, exclude=TRAIN)
    assert list(found["metrics"]) == ASKED
    for metric, values in expected.items():
        defined = values[~np.isnan(values)]
        assert found["metrics"][metric]["mean"] == defined.mean()
        assert found["metrics"][metric]["std"] == defined.std(ddof=1)
        assert found["metrics"][metric]["users"] == 3
    assert (found["n_users"], found["n_items"]) == (4, 5)


def test_exclude_and_candidates_change_the_result(files, capsys):
    base = [files / "scores.npy", files / "truth.npz", "-m", "recall@2"]
    plain = run_json(capsys, *base)
    excluded = run_json(capsys, *base, "--exclude", files / "train.npz")
    only = run_json(capsys, *base, "--candidates", files / "train.npz")
    for found, sets in ((plain, {}), (excluded, {"exclude": TRAIN}), (only, {"candidates": TRAIN})):
        values = Metrics.compute(SCORES, TRUTH, ["recall@2"], **sets)["recall@2"]
        assert found["metrics"]["recall@2"]["mean"] == np.nanmean(values)
    means = {found["metrics"]["recall@2"]["mean"] for found in (plain, excluded, only)}
    assert len(means) == 3


def test_a_listed_pair_is_excluded_whatever_its_number_and_repetition(files, capsys):
    (files / "again.tsv").write_text("0 0 0\n0 0 -1\n1 4\n3 0 5\n3 1\n3 1\n")
    base = [files / "scores.npy", files / "truth.npz", *asked(), "--exclude"]
    assert run_json(capsys, *base, files / "again.tsv") == run_json(
        capsys, *base, files / "train.npy"
    )


def test_text_may_hold_comments_blank_lines_a_mark_and_other_line_ends(files, capsys):
    text = "\ufeff# caf\u00e9\r\n\r\n0 0\r\n0\t1 # comment\r\n 0 , 4 , 1.0\r\n1 3 2e0\r\n3 1 3\n3 4"
    (files / "odd.txt").write_bytes(text.encode() + b"\n# not UTF-8: \xff\n")
    base = [files / "scores.npy"]
    assert run_json(capsys, *base, files / "odd.txt", *asked()) == run_json(
        capsys, *base, files / "truth.npy", *asked()
    )


def test_undefined_is_null_in_json_and_a_dash_in_the_table(files, capsys):
    np.save(files / "nothing.npy", np.zeros_like(TRUTH))
    argv = [files / "scores.npy", files / "nothing.npy", "-m", "ndcg@3"]
    assert run_json(capsys, *argv)["metrics"]["ndcg@3"] == {
        "mean": None,
        "std": None,
        "interval": None,
        "users": 0,
    }
    assert main(["evaluate", *map(str, argv)]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "ndcg@3" in line)
    assert row.split() == ["ndcg@3", "-", "-", "-", "0"]


def test_undefined_zero_counts_every_user(files, capsys):
    base = [files / "scores.npy", files / "truth.npy", "-m", "hit@5"]
    assert run_json(capsys, *base)["metrics"]["hit@5"] | {"interval": 0, "std": 0} == {
        "mean": 1.0,
        "std": 0,
        "interval": 0,
        "users": 3,
    }
    zero = run_json(capsys, *base, "--undefined", "zero")["metrics"]["hit@5"]
    assert (zero["mean"], zero["users"]) == (0.75, 4)


def test_a_convention_gives_the_numbers_of_its_system(files, capsys):
    base = [files / "scores.npy", files / "truth.npy", "-m", "recall@2"]
    found = run_json(capsys, *base, "--convention", "ranx")
    # Of three, one and two relevant items the first two ranks hold 2, 1 and 1; user 2 has none.
    assert found["metrics"]["recall@2"]["mean"] == pytest.approx((2 / 3 + 1 / 1 + 1 / 2) / 3)
    assert found["metrics"]["recall@2"]["users"] == 3
    assert (found["convention"], found["undefined"]) == ("ranx", None)
    plain = run_json(capsys, *base)
    assert (plain["convention"], plain["undefined"]) == (None, "nan")


def test_without_metrics_those_of_the_convention_are_computed(files, capsys):
    found = run_json(capsys, files / "scores.npy", files / "truth.npy", "--convention", "rectorch")
    assert list(found["metrics"]) == ["hit@10", "recall@10", "map@10", "mrr@10", "ndcg@10", "auc"]


def test_the_interval_is_that_of_the_library(files, capsys):
    found = run_json(capsys, files / "scores.npy", files / "truth.npy", *asked())
    values = Metrics.compute(SCORES, TRUTH, ASKED)
    for record in summary(values):
        assert found["metrics"][record.metric]["interval"] == [record.low, record.high]
        assert record.low < record.mean < record.high
    # And the one of compare, whose command has the seed 0, too.
    mean = compare({"a": values, "b": values}, rng=0).means[0]
    assert found["metrics"][ASKED[0]]["interval"] == [mean.low, mean.high]


def test_without_metrics_every_bounded_one_of_the_registry_is_computed(files, capsys):
    found = run_json(capsys, files / "scores.npy", files / "truth.npy")
    bounded = [m for m in METRICS.values() if m.reads == "hits" and m.bounds == (0, 1)]
    expected = {metric.name for metric in bounded if metric.higher_is_better}
    assert {metric.partition("@")[0] for metric in found["metrics"]} == expected
    assert "ndcg@10" in found["metrics"]


def test_the_table_in_a_pipe_is_plain_and_whole(files, capsys):
    assert main(["evaluate", str(files / "scores.npy"), str(files / "truth.npy"), *asked()]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.startswith("metric ")
    for metric in ASKED:
        values = Metrics.compute(SCORES, TRUTH, [metric])[metric]
        row = next(line for line in out.splitlines() if metric in line)
        assert row.removeprefix(metric).split()[0] == f"{np.nanmean(values):.4f}"
    assert out.splitlines()[-2:] == [
        "4 users x 5 items; 95 % intervals by percentile bootstrap over users, 2,000 resamples",
        "means are over 3 of 4 users; 1 has no relevant item; --undefined zero counts them as 0",
    ]
    assert all(line == line.rstrip() for line in out.splitlines())


def test_nothing_is_said_of_users_left_out_where_there_are_none(files, capsys):
    arguments = [str(files / "scores.npy"), str(files / "truth.npy"), *asked()]
    assert main(["evaluate", *arguments, "--undefined", "zero"]) == 0
    assert "means are over" not in capsys.readouterr().out


def test_the_footer_counts_users_whose_relevant_items_are_all_excluded(files, capsys):
    base = ["evaluate", str(files / "scores.npy"), str(files / "truth.npz"), "-m", "hit@2"]
    relevant = [np.flatnonzero(row) for row in TRUTH]
    assert [len(items) > 0 for items in relevant].count(True) == 3

    def footer(exclude):
        np.save(files / "exclude.npy", exclude)
        assert main([*base, "--exclude", str(files / "exclude.npy")]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return printed.out.splitlines()[-2]

    some = TRUTH > 0
    some[[user for user, items in enumerate(relevant) if len(items)][1:]] = False
    assert footer(np.zeros_like(some)) == "all relevant items of 0 of 3 users are excluded"
    assert footer(some) == "all relevant items of 1 of 3 users are excluded"
    assert footer(TRUTH > 0) == (
        "all relevant items of 3 of 3 users are excluded; is --exclude the test set instead of "
        "the training set?"
    )
    np.save(files / "exclude.npy", some)
    arguments = [files / "scores.npy", files / "truth.npz", "-m", "hit@2"]
    found = run_json(capsys, *arguments, "--exclude", files / "exclude.npy")
    assert found["all_relevant_excluded"] == {"users": 1, "of": 3}
    assert "all_relevant_excluded" not in run_json(capsys, *arguments)
    assert main(base) == 0
    assert "excluded" not in capsys.readouterr().out


def test_per_user_csv_holds_every_digit_and_an_empty_cell_where_undefined(files, capsys):
    out = files / "users.csv"
    argv = [files / "scores.npy", files / "truth.npy", *asked(), "--per-user", out]
    run_json(capsys, *argv)
    expected = Metrics.compute(SCORES, TRUTH, ASKED)
    with out.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["user", *ASKED]
    assert [row[0] for row in rows] == ["0", "1", "2", "3"]
    assert rows[2][1:] == ["", ""]
    for column, metric in enumerate(ASKED, start=1):
        read = [float(row[column] or "nan") for row in rows]
        np.testing.assert_array_equal(read, expected[metric])


def test_per_user_npz_holds_the_arrays_and_replaces_an_older_file(files, capsys):
    out = files / "users.npz"
    out.write_text("an older file")
    before = set(files.iterdir())
    run_json(capsys, files / "scores.npy", files / "truth.npy", *asked(), "--per-user", out)
    assert set(files.iterdir()) == before  # no temporary file stays
    with np.load(out) as found:
        assert list(found) == ASKED
        for metric, values in Metrics.compute(SCORES, TRUTH, ASKED).items():
            np.testing.assert_array_equal(found[metric], values)


def test_per_user_csv_in_several_blocks(files, capsys, monkeypatch):
    monkeypatch.setattr("recmetrics.cli._output._ROWS_AT_A_TIME", 3)
    out = files / "users.csv"
    run_json(capsys, files / "scores.npy", files / "truth.npy", "-m", "hit@2", "--per-user", out)
    assert out.read_text() == "user,hit@2\n0,1.0\n1,1.0\n2,\n3,1.0\n"


def test_a_system_metric_has_one_value_and_no_place_among_users(tmp_path):
    system, user = np.array(0.25), np.array([1.0, 0.0])
    for name in ("users.csv", "users.npz"):
        write_per_user(tmp_path / name, {"coverage@2": system, "hit@2": user})
    assert (tmp_path / "users.csv").read_text() == "user,hit@2\n0,1.0\n1,0.0\n"
    with np.load(tmp_path / "users.npz") as found:
        assert list(found) == ["hit@2"]


def test_scores_are_mapped_and_arguments_reach_compute(files, capsys, monkeypatch):
    seen = []

    def find(scores, users, request):
        seen.extend((scores, request))
        return find_hits(scores, users, request)

    monkeypatch.setattr(_score_files, "find_hits", find)
    argv = ["--threads", "2", "--nan", "exclude", "--undefined", "zero", "-m", "hit@1"]
    argv += ["--convention", "ranx", "--ties", "best"]
    run_json(capsys, files / "scores.npy", files / "truth.npz", *argv)
    scores, request = seen
    assert isinstance(scores.array.base, np.memmap)
    assert (request.nan, request.n_threads, request.progress) == ("exclude", 2, None)
    expected = Request("hit@1", undefined="zero", convention="ranx", ties="best")
    assert request.definitions == expected.definitions


def test_json_needs_no_rich_and_a_table_says_what_to_type(files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    argv = [str(files / "scores.npy"), str(files / "truth.npz"), "-m", "ndcg@3"]
    assert run_json(capsys, *argv)["metrics"]["ndcg@3"]["users"] == 3
    assert main(["evaluate", *argv]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "recmetrics: error: the command needs the package rich, as in the extra cli; "
        'type: pip install "matplotlib>=3.8" "narwhals>=2.9" "polars>=1.0" "rich>=13"\n'
    )


# --- Ties, chance and ceiling --------------------------------------------------------------------


def test_ties_are_those_of_compute(files, capsys):
    tied = np.round(SCORES / 4).astype(np.float32)
    np.save(files / "tied.npy", tied)
    means = []
    for ties in ("index", "expected", "worst", "best"):
        found = run_json(
            capsys, files / "tied.npy", files / "truth.npz", "-m", "ndcg@3", "--ties", ties
        )
        expected = np.nanmean(Metrics.compute(tied, TRUTH, "ndcg@3", ties=ties)["ndcg@3"])
        assert found["metrics"]["ndcg@3"]["mean"] == expected
        means.append(expected)
    assert len(set(means)) == 4


def test_a_range_of_ties_has_three_rows_and_three_columns(files, capsys):
    tied = np.round(SCORES / 4).astype(np.float32)
    np.save(files / "tied.npy", tied)
    argv = [files / "tied.npy", files / "truth.npz", "-m", "ndcg@3", "--ties", "range", "--chance"]
    found = run_json(capsys, *argv, "--per-user", files / "values.csv")["metrics"]
    expected = Metrics.compute(tied, TRUTH, "ndcg@3", ties="range")
    assert list(found) == list(expected) == ["ndcg@3", "ndcg@3[least]", "ndcg@3[greatest]"]
    for key, values in expected.items():
        assert found[key]["mean"] == np.nanmean(values)
    assert (files / "values.csv").read_text().splitlines()[0] == f"user,{','.join(expected)}"
    # A random ranking has no ties.
    chance = np.nanmean(Metrics.chance(TRUTH, "ndcg@3")["ndcg@3"])
    assert [each["chance"] for each in found.values()] == [chance, None, None]
    assert main(["evaluate", *map(str, argv)]) == 0
    rows = capsys.readouterr().out.splitlines()[2:5]
    assert [row.split()[0] for row in rows] == list(expected)


def test_chance_and_ceiling_stand_beside_each_mean(files, capsys):
    sets = {"exclude": TRAIN}
    argv = [files / "scores.npy", files / "truth.npz", "--exclude", files / "train.npz", "--chance"]
    found = run_json(capsys, *argv, "-m", "ndcg@3", "-m", "coverage@3")["metrics"]
    for name in ("chance", "ceiling"):
        values = getattr(Metrics, name)(TRUTH, "ndcg@3", **sets)["ndcg@3"]
        assert found["ndcg@3"][name] == np.nanmean(values)
        assert found["coverage@3"][name] is None
    assert found["ndcg@3"]["chance"] < found["ndcg@3"]["mean"] < found["ndcg@3"]["ceiling"] < 1
    assert main(["evaluate", *map(str, argv), "-m", "ndcg@3", "-m", "coverage@3"]) == 0
    heading, _, ndcg, coverage, *_ = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["metric", "mean", "chance", "ceiling"]
    assert ndcg.split()[2:4] == [f"{found['ndcg@3'][name]:.4f}" for name in ("chance", "ceiling")]
    assert coverage.split()[2:4] == ["-", "-"]


def test_without_chance_nothing_is_said_of_it(files, capsys):
    found = run_json(capsys, files / "scores.npy", files / "truth.npz", "-m", "ndcg@3")
    assert "chance" not in found["metrics"]["ndcg@3"]


def test_a_metric_without_tie_policies_names_the_option(files, capsys):
    argv = [str(files / "scores.npy"), str(files / "truth.npz"), "-m", "coverage@3"]
    assert main(["evaluate", *argv, "--ties", "best"]) == 2
    err = capsys.readouterr().err
    assert "coverage@3 reads the lists themselves and has no --ties best; hit, precision" in err
    assert err.endswith("; give --ties index\n")


def odd_files(files):
    """Scores with a tie across cutoff 2, and what is relevant and excluded at once."""
    odd = SCORES.copy()
    odd[0, 1:3] = 3
    np.save(files / "odd.npy", odd)
    return odd, [files / "odd.npy", files / "truth.npz", "--exclude", files / "train.npz"]


def test_the_audit_stands_above_the_table(files, capsys):
    odd, argv = odd_files(files)
    metrics = ["-m", "ndcg@1", "-m", "recall@2", "-m", "auc"]
    assert main(["evaluate", *map(str, argv), *metrics]) == 0
    table = capsys.readouterr().out
    assert main(["evaluate", *map(str, argv), *metrics, "--audit"]) == 0
    report = str(audit(odd, TRUTH, exclude=TRAIN, k=2))
    assert "relevant items are excluded" in report
    assert capsys.readouterr().out == f"{report}\n\n{table}"


def test_the_audit_in_json(files, capsys):
    odd, argv = odd_files(files)
    found = run_json(capsys, *argv, "-m", "ndcg@1", "-m", "recall@2", "--audit")["audit"]
    expected = audit(odd, TRUTH, exclude=TRAIN, k=2)
    assert (found["k"], found["dtype"]) == (2, "float32")
    assert {name: Finding(**one) for name, one in found["findings"].items()} == expected.findings
    assert found["findings"]["excluded_relevant"]["users"] == 2
    assert "audit" not in run_json(capsys, *argv, "-m", "ndcg@1")


def test_an_audit_without_a_cutoff_is_of_the_whole_list(files, capsys):
    found = run_json(capsys, files / "scores.npy", files / "truth.npz", "-m", "auc", "--audit")
    assert found["audit"]["k"] == SCORES.shape[1]


def test_the_audit_tells_of_what_ends_the_command_and_names_the_option(files, capsys):
    odd = SCORES.copy()
    odd[1, 2] = np.nan
    np.save(files / "odd.npy", odd)
    argv = [str(files / "odd.npy"), str(files / "truth.npz"), "-m", "ndcg@3", "--audit"]
    assert main(["evaluate", *argv]) == 2
    printed = capsys.readouterr()
    assert "  scores are NaN, an error unless --nan exclude: 1, of 1 user (25.0%)" in printed.out
    assert printed.err.startswith(
        f"recmetrics: error: SCORES {argv[0]!r} holds 1 NaN, the first at (user 1, "
    )
    assert main(["evaluate", *argv, "--nan", "exclude"]) == 0
    assert "ndcg@3" in capsys.readouterr().out


def test_sparse_scores_and_a_truth_of_one_item_each(files, capsys):
    stored = sparse.csr_array(np.where(SCORES > 1, SCORES, 0))
    sparse.save_npz(files / "scores.npz", stored)
    np.save(files / "next.npy", np.array([0, -1, 2, 4]))
    argv = [files / "scores.npz", files / "next.npy", *asked(["mrr", "hit@1"]), "--chance"]
    found = run_json(capsys, *argv, "--audit")["metrics"]
    # Users 0, 2 and 3: item 0 is first, item 2 fourth of 5, 4, 3, 2, and item 4 fifth.
    assert found["mrr"]["mean"] == pytest.approx((1 + 1 / 4 + 1 / 5) / 3)
    assert (found["hit@1"]["mean"], found["hit@1"]["users"]) == (1 / 3, 3)
    assert found["hit@1"]["chance"] == pytest.approx(1 / 5)
    assert main(["evaluate", str(files / "scores.npz"), str(files / "next.npy")]) == 0
    assert "3 of 4 users" in capsys.readouterr().out
    np.save(files / "next.npy", np.array([0, 1, 5, 4]))
    assert main(["evaluate", str(files / "scores.npz"), str(files / "next.npy")]) == 2
    assert "item 5, which is outside the catalogue; expected 0 .. 4" in capsys.readouterr().err
