"""The notebook of the tour is written from its page, and shows what the page shows."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from packages import absent

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "site"))
tour = importlib.import_module("tour")


def test_the_notebook_is_current_and_has_no_outputs():
    text = tour.PAGE.read_text()
    written = tour.NOTEBOOK.read_text()
    assert written == tour.notebook(text)
    cells = json.loads(written)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [part.strip() for part in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")


def test_the_links_of_the_notebook_lead_to_files():
    cells = json.loads(tour.NOTEBOOK.read_text())["cells"]
    prose = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\(([^)#]+)", prose)
    assert len(links) == 3
    assert "ipynb" not in prose
    assert all((tour.NOTEBOOK.parent / link).is_file() for link in links)


def test_the_page_shows_the_pictures_that_its_code_draws():
    text = tour.PAGE.read_text()
    drawn = re.findall(r'\("(\w+\.png)"\)', text)
    assert len(drawn) == 2
    assert drawn == re.findall(r"!\[[^\]]+\]\((\w+\.png)\)", text)


def test_the_prose_is_one_page():
    prose = re.sub(r"^```.*?^```$", "", tour.PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) <= 350


def test_the_tour_runs_on_a_split_in_files(tmp_path, monkeypatch):
    """The code that loads a split takes the place of the one that simulates it."""
    text = tour.PAGE.read_text()
    blocks = tour.CODE.findall(text)
    if missing := absent("\n".join(blocks)):
        pytest.skip(f"{missing} is not installed")
    liked = np.random.default_rng(0).random((90, 60)) < 0.3
    held_out = np.random.default_rng(1).random(liked.shape) < 0.2
    held_out[5] = False
    for part, matrix in (("train", liked & ~held_out), ("test", liked & held_out)):
        sp.save_npz(tmp_path / f"ml-1m_{part}.npz", sp.csr_array(matrix.astype(float)))
    monkeypatch.chdir(tmp_path)
    (loading,) = re.findall(r"`(train, test = .*)`", text)
    page = tour.run(text.replace(blocks[0], f"import numpy as np\nimport scipy\n\n{loading}\n"))
    users = re.search(r"^ndcg@10 .* (\d+) +(\d+)$", page, re.MULTILINE)
    n_defined = np.count_nonzero((liked & held_out).any(axis=1))
    assert [int(users[1]), int(users[2])] == [n_defined, len(liked) - n_defined]
