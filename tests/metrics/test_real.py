"""The benchmark on real splits: its published numbers, and its models against their textbooks."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    """Import a file of the benchmarks, which are no package, under the name they use themselves."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


models = load("models")
real = load("real")

GOWALLA = real.split_files(real.data_folder(), "gowalla")
needs_gowalla = pytest.mark.skipif(
    not all(path.is_file() for path in GOWALLA),
    reason=f"no real data: no Gowalla split in {real.data_folder()} (set RECMETRICS_DATA)",
)


def interactions(n_users: int, n_items: int, density: float, seed: int = 0) -> sp.csr_matrix:
    """Random train data; the first user and the last item have none."""
    matrix = np.random.default_rng(seed).random((n_users, n_items)) < density
    matrix[0] = False
    matrix[:, -1] = False
    return sp.csr_matrix(matrix.astype(np.float64))


def textbook_gfcf(train: np.ndarray, n_factors: int, weight: float) -> np.ndarray:
    """The formula of the article, with dense matrices."""
    with np.errstate(divide="ignore"):
        users = np.where(train.sum(1) > 0, train.sum(1) ** -0.5, 0)
        items = np.where(train.sum(0) > 0, train.sum(0) ** -0.5, 0)
    normalised = users[:, None] * train * items
    vectors = np.linalg.svd(normalised)[2][:n_factors].T
    ideal = (train * items) @ vectors @ vectors.T * np.sqrt(train.sum(0))
    return train @ (normalised.T @ normalised) + weight * ideal


@pytest.mark.needs_jit
@needs_gowalla
def test_popularity_on_gowalla_gives_the_published_numbers() -> None:
    train, truth = (sp.load_npz(path).tocsr() for path in GOWALLA)
    published = real.POPULARITY_ON_GOWALLA
    metrics = [number.metric for number in published]
    values = real.popularity_values(train, truth, metrics, real.Stopwatch())
    for number in published:
        assert values[number.metric].shape == (29_858,)
        assert values[number.metric].mean() == pytest.approx(number.value, rel=0, abs=1e-12)


@pytest.mark.needs_jit
@needs_gowalla
@pytest.mark.parametrize("number", real.POPULARITY_ON_GOWALLA, ids=lambda each: each.metric)
def test_identify_leads_back_to_the_definition_of_a_published_number(number) -> None:
    train, truth = (sp.load_npz(path).tocsr() for path in GOWALLA)
    scores = np.broadcast_to(models.popularity(train), train.shape)
    assert real.is_identified(scores, truth, train, number)
    if number.metric != "hit@20":  # a search takes 10 s and more, and another number is one claim
        return
    other = real.Published(number.metric, round(number.value, 4) + 1e-9, 0)
    assert not real.is_identified(scores, truth, train, other)


@pytest.mark.parametrize("block_rows", [7, 64, 200])
def test_gfcf_is_the_textbook_formula(block_rows: int) -> None:
    train = interactions(150, 60, 0.1)
    model = models.GFCF.fit(train, n_factors=10, weight=0.3)
    out = np.full((block_rows, 60), np.nan, np.float32)
    blocks = models.row_blocks(150, block_rows)
    scores = np.concatenate([model.scores(users, out).copy() for users in blocks])
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, textbook_gfcf(train.toarray(), 10, 0.3), atol=2e-5)


def test_krylov_vectors_are_those_of_a_full_decomposition() -> None:
    matrix = interactions(400, 300, 0.05).astype(np.float32)
    found = models.right_singular_vectors(matrix, 12, width=8, depth=24)
    expected = np.linalg.svd(matrix.toarray().astype(np.float64))[2][:12].T
    assert found.shape == (300, 12)
    np.testing.assert_allclose(np.abs((found * expected).sum(axis=0)), 1, atol=1e-4)


def test_ease_is_ridge_regression_of_each_item_on_all_others() -> None:
    train = interactions(80, 15, 0.3)
    weights = models.ease(train, l2=3.0)
    assert not np.diag(weights).any()
    gram = (train.T @ train).toarray() + 3.0 * np.eye(15)
    for item in range(15):
        others = np.arange(15) != item
        expected = np.linalg.solve(gram[np.ix_(others, others)], gram[others, item])
        np.testing.assert_allclose(weights[others, item], expected, atol=1e-10)


def test_popularity_counts_users() -> None:
    train = sp.csr_matrix([[5.0, 0.0, 1.0], [2.0, 0.0, 0.0]])
    assert models.popularity(train).tolist() == [2.0, 0.0, 1.0]


def test_a_number_that_is_missed_is_said_loudly(capsys: pytest.CaptureFixture[str]) -> None:
    published = (real.Published("ndcg@20", 0.1518, 5e-5), real.Published("hit@20", 0.5, 1e-12))
    assert real.show_published({"ndcg@20": 0.15184, "hit@20": 0.5}, published)
    assert capsys.readouterr().err == ""
    assert not real.show_published({"ndcg@20": 0.15186, "hit@20": 0.5}, published)
    shown = capsys.readouterr()
    assert shown.err == "NOT MET: ndcg@20 is 0.15186, published is 0.1518\n"
    assert shown.out.count("NOT MET") == 1


def test_absent_data_end_in_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("RECMETRICS_DATA", str(tmp_path))
    assert real.main(["ease"]) == 2
    files = "ml-1m_test.npz, ml-1m_train.npz"
    assert capsys.readouterr().err == (
        f"no {files} in {tmp_path}; set RECMETRICS_DATA to the folder of the splits\n"
    )
