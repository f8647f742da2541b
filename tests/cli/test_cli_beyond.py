"""``recmetrics evaluate`` with side information, and what ``recmetrics metrics`` says of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import evaluated, printed, rejected, require_tables
from problems import of_kind, side_information
from scipy import sparse

from recmetrics import Metrics, popularity_from, propensity_from
from recmetrics.cli import main

SCORES = np.array([[4, 3, 2, 1, 0], [1, 5, 2, 4, 3]], np.float32)
TRUTH = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 2, 0]], float)
TRAIN = np.array([[1, 2, 0, 1, 3], [0, 1, 1, 0, 1]], float)
SIDE = side_information(2, 5, seed=3) | {"profile": TRAIN}
OTHERS = [f"{metric.name}@3" for metric in of_kind("lists", "exposure")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", SCORES)
    np.save("truth.npy", TRUTH)
    for name, matrix in {**SIDE, "train": TRAIN, "similarity": np.eye(5)}.items():
        np.save(f"{name}.npy", matrix)
        sparse.save_npz(f"{name}.npz", sparse.csr_array(np.atleast_2d(matrix)))
    Path("train.tsv").write_text("".join(f"{u}\t{i}\n" for u, i in np.argwhere(TRAIN)))


def run(capsys, *argv, metrics=OTHERS):
    return evaluated(capsys, "scores.npy", "truth.npy", *argv, "-m", *metrics)["of"]


def error(capsys, *argv):
    return rejected(capsys, "scores.npy", "truth.npy", *argv)


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_every_metric_is_what_compute_gives(suffix, capsys):
    found = run(
        capsys,
        "--popularity-from",
        "train.tsv" if suffix == "npy" else "train.npz",
        *(f"--{name}={name}.{suffix}" for name in ("features", "genres", "profile")),
    )
    side = SIDE | {"popularity": popularity_from(TRAIN)}
    expected = Metrics.compute(SCORES, TRUTH, OTHERS, **side)
    assert list(found) == OTHERS
    for metric, values in expected.items():
        np.testing.assert_allclose(found[metric]["mean"], np.nanmean(values), rtol=1e-12)
        assert found[metric]["n_users"] == (None if values.ndim == 0 else 2)


def test_a_similarity_instead_of_features(capsys):
    found = run(capsys, "--similarity", "similarity.npz", metrics=["diversity@3"])
    assert found["diversity@3"]["mean"] == 1.0


def test_files_of_side_information_that_are_none(capsys):
    Path("features.tsv").write_text("0 1\n")
    message = error(capsys, "-m", "diversity", "--features", "features.tsv")
    assert message == (
        "--features 'features.tsv' is not in NumPy's .npy or .npz format; expected a sparse .npz "
        "(scipy.sparse.save_npz) or a dense .npy (numpy.save)"
    )
    message = error(capsys, "-m", "diversity", "--features", "missing.npy")
    assert message.startswith("cannot open --features 'missing.npy': ")
    run(capsys, "--features", "features.npy", metrics=["diversity"])


def test_infinite_means_are_shown_and_null_in_json(capsys):
    np.save("nothing.npy", np.zeros((2, 5)))
    metric = "novelty(unseen=inf)@3"
    found = run(capsys, "--popularity-from", "nothing.npy", metrics=[metric])
    one = found[metric]
    assert [one[name] for name in ("mean", "std", "low", "n_users")] == [None, None, None, 2]
    argv = ["scores.npy", "truth.npy", "--popularity-from", "nothing.npy", "-m", metric]
    row = printed(capsys, "evaluate", *argv).splitlines()[2]
    assert row.split() == [metric, "inf", "-", "inf", "inf", "inf", "2"]


def test_what_is_left_out_is_told(capsys):
    argv = ["--features", "features.npy", "-m", "diversity@1", "hit@1"]
    found = evaluated(capsys, "scores.npy", "truth.npy", *argv)
    assert found["notes"][0] == (
        "left out of diversity@1: 2 of 2 users have no value (a list of fewer than two items)"
    )


# --- Strata and propensities ---------------------------------------------------------------------

OF_RELEVANT = [
    *("recall@3", "recall(of=tail)@3", "ndcg(of=had-2.1)@3"),
    *("recall(weigh=snips)@3", "precision(weigh=ips, of=tail)@3", "share(of=tail)@3"),
]


@pytest.mark.parametrize("form", ["mask", "indices", "dense", "sparse", "text"])
def test_strata_and_propensities_are_those_of_the_library(capsys, form):
    tail = np.array([True, False, False, True, True])
    had = np.array([[0, 1, 0, 0, 1], [0, 0, 0, 1, 0]])
    of_tail, file = tail, "tail.npy"
    if form == "indices":
        np.save(file, np.flatnonzero(tail))
    elif form == "mask":
        np.save(file, tail)
    elif form == "dense":
        np.save(file, np.tile(tail, (2, 1)))
    elif form == "sparse":
        file = "tail.npz"
        sparse.save_npz(file, sparse.csr_array(np.tile(tail, (2, 1))))
    else:
        file = "tail.tsv"
        Path(file).write_text("".join(f"{u}\t{i}\n" for u in (0, 1) for i in np.flatnonzero(tail)))
    np.save("had.npy", had)
    options = ["--stratum", f"tail={file}", "--stratum", "had-2.1=had.npy"]
    options += ["--propensity-from", "train.npz", "--chance"]
    got = run(capsys, *options, metrics=OF_RELEVANT)
    given = {"strata": {"tail": of_tail, "had-2.1": had}, "propensity": propensity_from(TRAIN)}
    expected = Metrics.compute(SCORES, TRUTH, OF_RELEVANT, **given)
    chance = Metrics.chance(TRUTH, OF_RELEVANT, n_items=5, **given)
    for metric in OF_RELEVANT:
        assert got[metric]["mean"] == np.nanmean(expected[metric])
        assert got[metric]["chance"] == np.nanmean(chance[metric])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["-m", "recall(of=tail)@3", "--stratum", "tail"],
            "argument --stratum: expected NAME=FILE, such as tail=items.npy, got 'tail'; see "
            "'recmetrics evaluate --help'",
        ),
        (
            ["-m", "mrr(of=a)", "--stratum", "a=mask.npy", "--stratum", "a=items.npy"],
            "--stratum has the same name twice; give each stratum a different name",
        ),
    ],
)
def test_options_of_strata_that_cannot_be_read(capsys, argv, message):
    np.save("mask.npy", np.ones(5, bool))
    np.save("items.npy", np.array([1, 3]))
    assert error(capsys, *argv) == message


def test_strata_and_propensities_of_tables(capsys):
    """a has x and y of the stratum in both lists; y weighs 1, w (1 / 2)^-1.5."""
    require_tables()
    Path("recs.csv").write_text("user,item,rank\na,x,1\na,y,2\nb,y,1\nb,z,2\n")
    Path("liked.csv").write_text("user,item\na,y\na,w\nb,y\n")
    Path("tail.csv").write_text("item\nw\n")
    Path("had.csv").write_text("user,item\na,y\n")
    Path("had.tsv").write_text("item\tuser\ny\ta\n")
    Path("train.csv").write_text("user,item\na,y\nb,x\nb,y\nc,w\n")
    expected = {
        "recall(denom=relevant)@2": (1 / 2 + 1) / 2,
        "recall(of=tail)@2": 0.0,
        "recall(of=had)@2": 1.0,
        "recall(denom=relevant, weigh=snips)@2": (1 / (1 + 0.5**-1.5) + 1) / 2,
    }
    options = ["--stratum", "tail=tail.csv", "--propensity-from", "train.csv", "--json"]
    for had in ("had.csv", "had.tsv"):
        argv = ["evaluate", "recs.csv", "liked.csv", *options, "--stratum", f"had={had}"]
        assert main([*argv, *(word for metric in expected for word in ("-m", metric))]) == 0
        found = {each["metric"]: each for each in json.loads(capsys.readouterr().out)["means"]}
        assert {text: each["mean"] for text, each in found.items()} == pytest.approx(expected)
    assert found["recall(of=tail)@2"]["n_users"] == 1
