"""``recmetrics demo``: what it simulates, trains, prints and draws."""

import re
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from inside import install

from recmetrics.cli import _demo, main
from recmetrics.cli._demo import simulate, split, train

SMALL = ["demo", "--users", "300", "--items", "200", "--epochs", "4"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def interactions():
    return simulate(200, 300, np.random.default_rng(1))


def printed(capsys, *argv):
    assert main([*SMALL, *argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def curve(out):
    return [float(value) for value in re.search(r"epochs: (.*)", out)[1].split()]


def rows(out):
    """Mean, interval and users of both models and their difference and its interval, by metric."""
    found = {}
    metric = None
    for line in out.splitlines():
        cells = re.sub(r"[\[\],*]", " ", line).split()
        if "popularity" in cells[1:2] and len(cells) == 6:
            metric = cells.pop(0)
            found[metric] = [float(cell) for cell in cells[1:]]
        elif cells[:1] == ["model"] and len(cells) == 6:
            found[metric] += [float(cell) for cell in cells[1:-1]]
        elif cells and cells[0] in found:
            found[cells[0]] += [float(cell) for cell in cells[1:4]]
    return found


def test_the_model_beats_popularity_and_the_curve_rises(capsys):
    out = printed(capsys, "--no-plot")
    assert " ms of evaluation\n\nmetric " in out
    assert len(curve(out)) == 4
    assert curve(out)[-1] > 1.5 * curve(out)[0]
    assert list(rows(out)) == ["ndcg@10", "recall@10", "mrr@10", "long_tail@10"]
    for popularity, _, popular, n, model, low, high, users, *difference in rows(out).values():
        assert low <= model <= high
        assert popularity <= popular <= low
        assert popular < model
        assert n == users == 300
        more, least, most = difference
        assert more == pytest.approx(model - popularity, abs=2e-4)
        assert 0 < least <= more <= most
    assert "paired t test, corrected by Holm over 4 metrics x 1 pair" in out
    assert out.count("<0.0001  *") == 4


def test_same_seed_same_output(capsys):
    first = printed(capsys, "--no-plot", "--seed", "7")

    def untimed(text):
        return re.sub(r"time of an epoch: [\d,]+ ms of training, then [\d,]+ ms of eval", "", text)

    first = untimed(first)
    assert "time of" not in first
    assert untimed(printed(capsys, "--no-plot", "--seed", "7")) == first
    assert untimed(printed(capsys, "--no-plot", "--seed", "8")) != first


def test_the_curve_is_drawn_where_it_is_asked_for(capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    out = printed(capsys)
    assert "learning curve:\n  recmetrics-demo.png\n" in out
    out = printed(capsys, "--plot", "curve.png")
    assert "learning curve:\n  curve.png\n" in out
    assert sorted(path.name for path in Path().iterdir()) == ["curve.png", "recmetrics-demo.png"]
    for path in Path().iterdir():
        assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_no_plot_draws_none(capsys):
    out = printed(capsys, "--no-plot")
    assert "no learning curve: --no-plot\n" in out
    code = re.search("the code of this demonstration:\n  (.*)", out)[1]
    assert "def demo(" in Path(code).read_text()
    assert list(Path().iterdir()) == []


def test_without_matplotlib_only_a_plot_asked_for_is_an_error(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert f"no learning curve: {install('cli')}\n" in printed(capsys)
    assert main([*SMALL, "--plot", "curve.png"]) == 2
    assert capsys.readouterr() == (
        "",
        f"recmetrics: error: --plot needs the package matplotlib; type: {install('cli')}\n",
    )


def test_the_simulation_is_skewed_and_every_user_has_a_history(interactions):
    lengths = np.diff(interactions.indptr)
    assert lengths.min() >= 5
    assert np.all(interactions.data == 1)  # no item twice
    popularity = np.sort(interactions.sum(axis=0))[::-1]
    assert popularity[:30].sum() > 0.2 * popularity.sum()  # a tenth of the items


def test_the_split_deals_every_interaction_once(interactions):
    parts = split(interactions, np.random.default_rng(2))
    assert (sum(parts[1:], start=parts[0]) != interactions).nnz == 0
    shares = [part.nnz / interactions.nnz for part in parts]
    np.testing.assert_allclose(shares, [0.7, 0.1, 0.2], atol=0.03)
    assert np.diff(parts.train.indptr).min() >= 3
    assert np.diff(parts.test.indptr).min() >= 1


def test_each_epoch_solves_the_weighted_ridge_regression_of_every_item(interactions):
    options = {"confidence": 3.0, "regularisation": 2.0}
    rng = np.random.default_rng(3)
    *_, (users, items) = train(interactions, n_factors=4, n_epochs=2, rng=rng, **options)
    dense = interactions.toarray()
    for item in (0, 17, 299):
        weight = np.diag(1 + 3.0 * dense[:, item])
        left = users.T @ weight @ users + 2.0 * np.eye(4)
        expected = np.linalg.solve(left, users.T @ weight @ dense[:, item])
        np.testing.assert_allclose(items[item], expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_lines_come_as_they_are_known(is_terminal, monkeypatch):
    """Each piece with what had been done before it was written."""
    done, pieces, shown = [], [], []

    def noting(name, function):
        def call(*args, **options):
            done.append(name)
            return function(*args, **options)

        return call

    for name in ("simulate", "split", "compare"):
        monkeypatch.setattr(_demo, name, noting(name, getattr(_demo, name)))
    for stream, into in (("stdout", pieces), ("stderr", shown)):
        written = StringIO()
        written.isatty = lambda: is_terminal
        written.write = lambda text, into=into: into.append((text, list(done)))
        monkeypatch.setattr(sys, stream, written)
    assert main([*SMALL, "--no-plot"]) == 0
    assert pieces[0] == ("simulated 300 users x 200 items, seed 0:\n", [])
    assert pieces[2][0].endswith("over 4 epochs:")
    values = [text for text, _ in pieces[3:7]]
    assert all(re.fullmatch(r" 0\.\d{3}", text.lstrip("\n")) for text in values)
    assert pieces[7][0].startswith("\ntime of an epoch: ")
    assert all("compare" not in done for _, done in pieces[:8])
    assert any("comparing models, metric 4 of 4" in text for text, _ in shown) == is_terminal
    assert bool(shown) == is_terminal


def test_it_fits_a_terminal_and_ends_in_a_command(capsys, monkeypatch):
    """No line is wider than 80 letters, so that the terminal breaks none; a path may be."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main([*SMALL[:-1], "30", "--no-plot"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80 and "/" not in line.strip()[0]] == []
    values = [line for line in lines if re.fullmatch(r"( 0\.\d{3})+", line)]
    assert [len(line) for line in values] == [13 * 6, 13 * 6, 4 * 6]  # 30 epochs, 80 // 6 in a line
    program, *words = last.split()
    assert program == "recmetrics"
    assert main(words) == 0
